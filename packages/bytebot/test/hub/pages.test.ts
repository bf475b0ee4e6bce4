import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { page } from "../../src/hub/readers/page.ts";
import { MemoryLog } from "../../src/log/index.ts";
import type { Event } from "../../src/wire/index.ts";
import { World, type Peer } from "./world.ts";

/** A log with so many events in one cell, without a Hub having run them. */
async function fill(log: MemoryLog, count: number, scopeOf: (n: number) => string = () => "u"): Promise<void> {
  let pos = 0;
  for (let n = 0; n < count; n += 10) {
    const events = Array.from({ length: 10 }, (_, at) => ({
      event_type: "user_event",
      id: `m${n + at}`,
      from: "ui",
      scope: scopeOf(n + at),
      n: n + at,
    }));
    ({ pos } = await log.append("u", pos, { id: `e${n}`, events }));
  }
}
const ask = (peer: Peer, id: string, more: object = {}): void =>
  peer.link.send({ event_type: "bb_history_request", id, scope: "u", ...more });
const numbers = (result: Event): unknown[] => (result["events"] as Event[]).map(({ n }) => n);

test("whoever asks for hundreds of pages gets them one by one, is told where it is too many, and nobody else waits (RPL-5)", async () => {
  const world = new World();
  await fill(world.log, 12_000);
  const greedy = await world.join("ui", { name: "greedy" });
  const other = await world.join("ui", { name: "other" });
  for (let n = 0; n < 200; n++) ask(greedy, `h${n}`, { limit: 1000 });
  ask(other, "mine", { limit: 3 });
  await other.send({ event_type: "bb_ping", id: "p" });
  assert.equal(other.all("bb_pong").length, 1);
  assert.deepEqual(numbers(await other.gets("bb_history_result")), [11_997, 11_998, 11_999]);
  assert.ok(greedy.all("bb_history_result").filter(({ success }) => success === true).length < 10, "in a circle");
  await greedy.gets("bb_history_result", 200);
  const [served, refused] = [true, false].map((wanted) =>
    greedy.all("bb_history_result").filter(({ success }) => success === wanted),
  );
  assert.deepEqual(
    served!.map(({ in_reply_to }) => in_reply_to),
    Array.from({ length: 33 }, (_, n) => `h${n}`),
    "in their order",
  );
  assert.equal(refused!.length, 167);
  const { code, retryable, retry_after_ms } = refused![0]!["error"] as Record<string, unknown>;
  assert.deepEqual([code, retryable, typeof retry_after_ms], ["overloaded", true, "number"]);
  await world.end();
});

test("a conversation with little in a cell with much is found without holding up anybody (RPL-5)", async () => {
  const world = new World();
  await fill(world.log, 100_000, (n) => (n < 10 ? "u" : "u/~child"));
  const ui = await world.join("ui");
  ask(ui, "h");
  await ui.send({ event_type: "bb_ping", id: "p" });
  assert.equal(ui.all("bb_pong").length, 1);
  assert.equal(ui.all("bb_history_result").length, 0, "still reading");
  assert.deepEqual(numbers(await ui.gets("bb_history_result")), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  await world.end();
});

test("what waits for a connection that has gone is not read (RPL-5)", async () => {
  const world = new World();
  await fill(world.log, 12_000);
  const ui = await world.join("ui");
  for (let n = 0; n < 30; n++) ask(ui, `h${n}`, { limit: 1000 });
  await ui.link.close("left");
  const back = await world.join("ui");
  ask(back, "h", { limit: 1 });
  await back.gets("bb_history_result");
  await world.end();
});

test("pages of any size, one after the other, are the whole history, each event once (RPL-5)", async () => {
  const scopes = fc.array(fc.constantFrom("u", "u/~a"), { minLength: 1, maxLength: 60 });
  await fc.assert(
    fc.asyncProperty(scopes, fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1 }), async (events, limits) => {
      const log = new MemoryLog();
      let pos = 0;
      for (let n = 0; n < events.length; n += 4) {
        const some = events.slice(n, n + 4).map((scope, at) => ({ event_type: "user_event", scope, n: n + at }));
        ({ pos } = await log.append("u", pos, { id: `e${n}`, events: some }));
      }
      const found: unknown[] = [];
      let before: string | undefined;
      for (let turn = 0, more = true; more; turn++) {
        const limit = limits[turn % limits.length]!;
        const request = { event_type: "bb_history_request" as const, id: "h", scope: "u", limit };
        const read = await page(log, before === undefined ? request : { ...request, before }, async () => {});
        more = read.more;
        before = read.events[0]?.["cursor"] as string | undefined;
        found.unshift(...read.events.map(({ n }) => n));
      }
      assert.deepEqual(
        found,
        events.flatMap((scope, n) => (scope === "u" ? [n] : [])),
      );
    }),
  );
});

test("a cursor of another conversation, of no event, or cut short is refused (RPL-5, hard case 27)", async () => {
  const world = new World();
  await fill(world.log, 20, (n) => (n === 3 ? "u/~child" : "u"));
  const ui = await world.join("ui");
  ask(ui, "all");
  const events = (await ui.gets("bb_history_result"))["events"] as Event[];
  const first = String(events[0]!["cursor"]);
  const stem = first.slice(0, -1);
  for (const [index, before] of [`${stem}3`, `${stem}99`, stem, first.replace(/\d+\.0$/, "999.0"), ""].entries()) {
    ask(ui, `h${index}`, { before });
    await world.settle();
    const answer = ui.got.find(({ in_reply_to }) => in_reply_to === `h${index}`)!;
    const error = (answer["error"] ?? answer) as { code: string };
    assert.ok(["cursor_expired", "invalid_event"].includes(error.code), `${before}: ${JSON.stringify(answer)}`);
  }
  ask(ui, "none", { before: first });
  await world.settle();
  assert.deepEqual(ui.last("bb_history_result")["events"], []);
  await world.end();
});
