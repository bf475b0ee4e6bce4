import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { MAX_ENTRY_BYTES, orderOf, withLargeEvents, type Entry, type EventLog } from "../../src/log/index.ts";
import type { Event } from "../../src/wire/index.ts";

/** What every engine does, whatever it stands on; `open` gives an empty log. */
export function logSuite(name: string, open: () => Promise<EventLog>): void {
  const event = (text: string): Event => ({ event_type: "user_event", type: "message", scope: "u", text });
  const entry = (id: string, ...texts: string[]) => ({ id, events: texts.map(event) });

  async function all<T>(entries: AsyncIterable<T>): Promise<T[]> {
    const found: T[] = [];
    for await (const each of entries) found.push(each);
    return found;
  }
  const texts = (entries: readonly Entry[]) => entries.flatMap(({ events }) => events.map((each) => each["text"]));

  test(`${name}: what was appended is read back, in order, after any position, cell by cell (LOG-2)`, async () => {
    const log = await open();
    const first = await log.append("u", 0, entry("a", "one", "two"));
    const second = await log.append("u", first.pos, entry("b", "three"));
    await log.append("v", 0, entry("c", "elsewhere"));
    assert.ok(second.pos > first.pos);
    assert.deepEqual(texts(await all(log.read("u", 0))), ["one", "two", "three"]);
    assert.deepEqual(texts(await all(log.read("u", first.pos))), ["three"]);
    assert.deepEqual(texts(await all(log.read("nowhere", 0))), []);
    assert.equal((await log.head("u"))?.pos, second.pos);
    assert.equal(await log.head("nowhere"), undefined);
    await log.close();
  });

  test(`${name}: a cell is read backwards, from its newest entry or from a cursor of its own (RPL-5)`, async () => {
    const log = await open();
    const first = await log.append("u", 0, entry("a", "one", "two"));
    const elsewhere = await log.append("v", 0, entry("x", "elsewhere"));
    const second = await log.append("u", first.pos, entry("b", "three"));
    const base = await log.append("u", second.pos, { ...entry("c", "four"), base: true });
    const backwards = async (from?: string) => (await all(log.readBack("u", from))).map(({ id }) => id);
    assert.deepEqual(await backwards(), ["c", "b", "a"]);
    assert.deepEqual(await backwards(second.cursor), ["b", "a"]);
    assert.deepEqual(await all(log.readBack("nowhere")), []);
    for (const cursor of [elsewhere.cursor, "other:1", "garbage", "", first.cursor.replace(/\d+$/, "999")])
      await assert.rejects(backwards(cursor), { code: "cursor_expired" }, cursor);
    await log.trim("u", base.pos);
    assert.deepEqual(await backwards(), ["c"]);
    await assert.rejects(backwards(first.cursor), { code: "cursor_expired" });
    await log.close();
  });

  test(`${name}: of six writers with one expected position one wins, the others learn where the cell is`, async () => {
    const log = await open();
    const tries = await Promise.allSettled(
      ["a", "b", "c", "d", "e", "f"].map(async (id) => log.append("u", 0, entry(id, id))),
    );
    const won = tries.filter(({ status }) => status === "fulfilled");
    assert.equal(won.length, 1);
    for (const each of tries) {
      if (each.status === "fulfilled") continue;
      const { code, data } = each.reason as { code: string; data: { head: number } };
      assert.equal(code, "conflict");
      assert.equal(data.head, (await log.head("u"))?.pos);
    }
    assert.equal((await all(log.read("u", 0))).length, 1);
    await log.close();
  });

  test(`${name}: the same entry again has the place it had, also after others (LOG-4)`, async () => {
    const log = await open();
    const place = await log.append("u", 0, entry("a", "one"));
    await log.append("u", place.pos, entry("b", "two"));
    const again = await log.append("u", 0, entry("a", "one"));
    assert.deepEqual([again.pos, again.cursor], [place.pos, place.cursor]);
    assert.deepEqual(texts(await all(log.read("u", 0))), ["one", "two"]);
    await log.close();
  });

  test(`${name}: what is done to an event after its append does not reach the log`, async () => {
    const log = await open();
    const said = event("as it was");
    await log.append("u", 0, { id: "a", events: [said] });
    said["text"] = "changed";
    assert.deepEqual(texts(await all(log.read("u", 0))), ["as it was"]);
    await log.close();
  });

  test(`${name}: the tail has every cell in one order, without gaps, from any cursor on, until it is aborted`, async () => {
    const log = await open();
    const first = await log.append("u", 0, entry("a", "one"));
    await log.append("v", 0, entry("b", "two"));
    const stop = new AbortController();
    const seen: unknown[] = [];
    const reading = (async () => {
      for await (const { cell, events } of log.tail([first.cursor], stop.signal)) {
        seen.push([cell, events[0]!["text"]]);
        if (seen.length === 3) stop.abort();
      }
    })();
    await log.append("u", first.pos, entry("c", "three"));
    await log.append("w", 0, entry("d", "four"));
    await reading;
    assert.deepEqual(seen, [
      ["v", "two"],
      ["u", "three"],
      ["w", "four"],
    ]);
    for (const cursor of ["other:1", "garbage", first.cursor.replace(/\d+$/, "999")]) {
      await assert.rejects(all(log.tail([cursor], AbortSignal.timeout(5000))), { code: "cursor_expired" }, cursor);
    }
    await log.close();
  });

  test(`${name}: the whole log is read in the order of commits, by the cells that some scopes reach (LOG-2)`, async () => {
    const log = await open();
    const places = [];
    assert.equal(orderOf(log.end), 0);
    for (const cell of ["u", "u/a", "v", "ux"]) places.push(await log.append(cell, 0, entry(cell, cell)));
    places.push(await log.append("u", places[0]!.pos, entry("again", "again")));
    assert.equal(log.end, places.at(-1)!.cursor);
    const orders = places.map(({ cursor }) => orderOf(cursor));
    assert.deepEqual(
      orders,
      orders.toSorted((a, b) => a - b),
    );
    assert.deepEqual(texts(await all(log.readAll(0, ["*"]))), ["u", "u/a", "v", "ux", "again"]);
    assert.deepEqual(texts(await all(log.readAll(0, ["u"]))), ["u", "u/a", "again"]);
    assert.deepEqual(texts(await all(log.readAll(0, ["u/a", "v"]))), ["u/a", "v"]);
    assert.deepEqual(texts(await all(log.readAll(0, ["u/~child"]))), ["u", "again"], "its cell is u");
    assert.deepEqual(texts(await all(log.readAll(orders[1]!, ["*"]))), ["v", "ux", "again"]);
    assert.deepEqual(texts(await all(log.readAll(orders[4]!, ["*"]))), []);
    await log.close();
  });

  test(`${name}: appends resolve in the order of their commits, whatever their size and their cell (LOG-3)`, async () => {
    const log = withLargeEvents(await open());
    const resolved: number[] = [];
    const large = "x".repeat(200_000);
    await Promise.all(
      Array.from({ length: 40 }, async (_, n) => {
        const { cursor } = await log.append(`c${n}`, 0, entry(`e${n}`, n % 3 === 0 ? large : "small"));
        resolved.push(orderOf(cursor));
      }),
    );
    assert.deepEqual(
      resolved,
      resolved.toSorted((a, b) => a - b),
    );
    await log.close();
  });

  test(`${name}: what is trimmed while somebody reads is told, never passed over in silence; its blobs go with it (LOG-5)`, async () => {
    const log = withLargeEvents(await open());
    const large = "x".repeat(100_000);
    let { pos } = await log.append("u", 0, entry("a", "one"));
    ({ pos } = await log.append("u", pos, entry("b", large)));
    const oldest = log.read("u", 0)[Symbol.asyncIterator]();
    const whole = log.readAll(0, ["*"])[Symbol.asyncIterator]();
    await oldest.next();
    await whole.next();
    const base = await log.append("u", pos, { ...entry("c", "all so far"), base: true });
    await log.append("u", base.pos, entry("d", large));
    await log.trim("u", base.pos);
    await assert.rejects(oldest.next(), { code: "cursor_expired", data: { base: base.pos } });
    const next = (await whole.next()).value as Entry;
    assert.deepEqual([next.base, next.gap, next.pos], [true, true, base.pos]);
    assert.deepEqual(texts([(await whole.next()).value as Entry]), [large], "a blob that two entries share stays");
    await log.close();
  });

  test(`${name}: an entry that is trimmed between its own reading and that of its blob is as one trimmed before (LOG-5)`, async () => {
    const engine = await open();
    const log = withLargeEvents(engine);
    const large = "x".repeat(100_000);
    const first = await log.append("u", 0, entry("a", large));
    const base = await log.append("u", first.pos, { ...entry("b", "all so far"), base: true });
    /** The log, trimmed by somebody else below this position whenever a blob is asked for. */
    const trimmedBelow = (pos: number): EventLog =>
      Object.create(engine, {
        getBlob: {
          value: async (cell: string, ref: string) => {
            await engine.trim(cell, pos);
            return engine.getBlob(cell, ref);
          },
        },
      }) as EventLog;
    const [next] = await all(withLargeEvents(trimmedBelow(base.pos)).readAll(0, ["*"]));
    assert.deepEqual([next!.id, next!.gap], ["b", true]);
    const { pos } = await log.append("u", base.pos, entry("c", large));
    const later = await log.append("u", pos, { ...entry("d", "all so far"), base: true });
    const reading = withLargeEvents(trimmedBelow(later.pos)).read("u", base.pos);
    await assert.rejects(all(reading), { code: "cursor_expired", data: { base: later.pos } });
    await log.close();
  });

  test(`${name}: a cell is trimmed below a base entry only, and what reads below it is told`, async () => {
    const log = await open();
    const first = await log.append("u", 0, entry("a", "one"));
    await assert.rejects(log.trim("u", first.pos), { code: "invalid_params" });
    const base = await log.append("u", first.pos, { ...entry("b", "all so far"), base: true });
    const last = await log.append("u", base.pos, entry("c", "two"));
    await log.trim("u", base.pos);
    assert.deepEqual(texts(await all(log.read("u", first.pos))), ["all so far", "two"]);
    await assert.rejects(all(log.read("u", 0)), { code: "cursor_expired" });
    assert.equal((await log.head("u"))?.pos, last.pos);
    await log.close();
  });

  test(`${name}: it tells which cells were left with something under way, and what it has of each (LOG-6)`, async () => {
    const log = await open();
    const first = await log.append("u", 0, { ...entry("a", "one", "two"), open: true });
    const child = await log.append("v/x", 0, { ...entry("b", "three"), open: true });
    const other = await log.append("w", 0, entry("c", "four"));
    assert.deepEqual((await all(log.unfinished())).sort(), ["u", "v/x"]);
    const { open: isOpen } = (await log.head("u"))!;
    assert.equal(isOpen, true);
    const second = await log.append("u", first.pos, entry("d", "five"));
    assert.deepEqual(await all(log.unfinished()), ["v/x"]);
    const infos = (await all(log.cells(["u", "v"]))).map(({ at, ...info }) => ({ ...info, dated: at > 0 }));
    const { cursor } = second;
    assert.deepEqual(infos, [
      { cell: "u", head: second.pos, base: first.pos, entries: 2, events: 3, cursor, dated: true },
      { cell: "v/x", head: child.pos, base: child.pos, entries: 1, events: 1, cursor: child.cursor, dated: true },
    ]);
    assert.deepEqual(
      (await all(log.cells(["*"]))).map(({ cell }) => cell),
      ["u", "v/x", "w"],
    );
    assert.equal((await log.head("w"))?.pos, other.pos);
    await log.close();
  });

  test(`${name}: an entry that wipes its cell leaves nothing of what was before, and other cells alone (CVS-5)`, async () => {
    const log = await open();
    const bytes = new TextEncoder().encode("beside");
    const { ref } = await log.putBlob("u", bytes);
    const first = await log.append("u", 0, { ...entry("a", "one"), refs: [ref], about: { title: "one" }, open: true });
    await log.putBlob("u/c", bytes);
    await log.append("u/c", 0, { ...entry("b", "elsewhere"), refs: [ref], about: { title: "else" } });
    const last = await log.append("u", first.pos, {
      ...{ ...entry("c", "gone"), base: true, wipe: true, about: { deleted: true } },
    });
    assert.deepEqual(texts(await all(log.readAll(0, ["*"]))), ["elsewhere", "gone"]);
    assert.equal((await all(log.readBack("u")))[0]!.gap, true);
    await assert.rejects(all(log.read("u", 0)), { code: "cursor_expired" });
    await assert.rejects(all(log.readBack("u", first.cursor)), { code: "cursor_expired" });
    await assert.rejects(log.getBlob("u", ref), { code: "not_found" });
    assert.equal((await log.getBlob("u/c", ref)).length, bytes.length);
    assert.deepEqual(await all(log.unfinished()), []);
    const abouts = (await all(log.cells(["*"]))).map(({ cell, about }) => [cell, about]);
    assert.deepEqual(abouts, [
      ["u", { deleted: true }],
      ["u/c", { title: "else" }],
    ]);
    // It goes on where it was, and the same append again is known.
    const again = { ...entry("c", "gone"), base: true as const, wipe: true as const };
    assert.deepEqual(await log.append("u", first.pos, again), last);
    await log.append("u", last.pos, { ...entry("d", "anew"), about: { title: "anew" } });
    assert.deepEqual(texts(await all(log.read("u", first.pos))), ["gone", "anew"]);
    await log.close();
  });

  test(`${name}: what a tenant has used is added up with the entries that used it, once each, and by the period (QTA-6)`, async () => {
    const log = await open();
    const spent = { since: 0, turns: 1, calls: 2, tokens: 30, cost: 0.5 };
    assert.equal(await log.spent("u"), undefined);
    const first = await log.append("u/a", 0, { ...entry("a", "one"), spent });
    await log.append("u/a", 0, { ...entry("a", "one"), spent });
    await log.append("u/b", 0, { ...entry("b", "two"), spent });
    await log.append("v", 0, { ...entry("c", "three"), spent });
    await assert.rejects(async () => log.append("u/a", 7, { ...entry("d", "four"), spent }), { code: "conflict" });
    assert.deepEqual(await log.spent("u"), { since: 0, turns: 2, calls: 4, tokens: 60, cost: 1 });
    assert.deepEqual(await log.spent("v"), spent);
    await log.append("u/a", first.pos, { ...entry("e", "later"), spent: { ...spent, since: 1000 } });
    assert.deepEqual(await log.spent("u"), { ...spent, since: 1000 });
    await log.append("u/b", 1, { ...entry("f", "late"), spent });
    assert.deepEqual(await log.spent("u"), { since: 1000, turns: 2, calls: 4, tokens: 60, cost: 1 });
    await log.close();
  });

  test(`${name}: an entry over its limit is refused whole, and the cell goes on`, async () => {
    const log = await open();
    await assert.rejects(async () => log.append("u", 0, entry("a", "x".repeat(MAX_ENTRY_BYTES))), {
      code: "too_large",
    });
    const many = { id: "b", events: Array.from({ length: 257 }, () => event("x")) };
    await assert.rejects(async () => log.append("u", 0, many), { code: "too_large" });
    await log.append("u", 0, entry("c", "fits"));
    assert.deepEqual(texts(await all(log.read("u", 0))), ["fits"]);
    await log.close();
  });

  test(`${name}: an entry may follow its blob before that is answered, and stands in the log with it`, async () => {
    const log = await open();
    const bytes = new TextEncoder().encode("hello");
    const ref = `sha256-${createHash("sha256").update(bytes).digest("hex")}`;
    const [blob, place] = await Promise.all([
      log.putBlob("u", bytes),
      log.append("u", 0, { ...entry("a", "with a blob"), refs: [ref] }),
    ]);
    assert.deepEqual([blob.ref, place.pos], [ref, 1]);
    assert.deepEqual(await log.getBlob("u", ref), bytes);
    await log.close();
  });

  test(`${name}: what is read of an entry has its events' lines, whatever is in them`, async () => {
    const log = withLargeEvents(await open());
    const said = ["one", 'two",\n{"three', "[],\u2028\n\n,", "", "four", "large".repeat(50_000)];
    await log.append("u", 0, entry("a", ...said.slice(0, 4)));
    await log.append("u", 1, { id: "b", events: [] });
    await log.append("u", 2, entry("c", ...said.slice(4)));
    for (const { events, lines } of await all(log.read("u", 0)))
      assert.deepEqual(
        lines?.map((line) => JSON.parse(line) as unknown),
        events,
      );
    assert.deepEqual(texts(await all(log.read("u", 0))), said);
    await log.close();
  });

  test(`${name}: blobs belong to their cell; a closed log takes nothing`, async () => {
    const log = await open();
    const bytes = new TextEncoder().encode("hello");
    const { ref, size } = await log.putBlob("u", bytes);
    assert.equal(size, 5);
    assert.deepEqual(await log.getBlob("u", ref), bytes);
    await assert.rejects(log.getBlob("v", ref), { code: "not_found" }, "never by the hash alone");
    await log.close();
    await assert.rejects(async () => log.append("u", 0, entry("a", "late")), { code: "unavailable" });
  });
}
