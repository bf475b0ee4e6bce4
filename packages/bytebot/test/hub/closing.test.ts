import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turnOfTheLoop } from "node:timers/promises";
import { Hub, offer } from "../../src/hub/index.ts";
import { MemoryLog, type NewEntry, type Place } from "../../src/log/index.ts";
import { inprocPair, type Link } from "../../src/transport/index.ts";
import { BytebotError, type Event, type Kind } from "../../src/wire/index.ts";
import { inferResult, message, textChunks, World } from "./world.ts";

/** A real log whose disk answers when a test says so, and as it says. */
class SlowLog extends MemoryLog {
  held = false;
  fault: unknown;
  private readonly holding: (() => void)[] = [];

  override async append(cell: string, expected: number, entry: NewEntry): Promise<Place> {
    if (this.held) await new Promise<void>((resolve) => this.holding.push(resolve));
    if (this.fault !== undefined) return Promise.reject(this.fault);
    return super.append(cell, expected, entry);
  }

  release(): void {
    this.held = false;
    for (const resolve of this.holding.splice(0)) resolve();
  }
}

interface Joined {
  link: Link;
  got: Event[];
  of: (type: string) => Event[];
}

/** A Hub on this log, and how to join it. */
function hubOn(log: MemoryLog, more: Partial<ConstructorParameters<typeof Hub>[0]> = {}) {
  const reports: string[] = [];
  const hub = new Hub({ name: "h", version: "0", log, report: (line) => reports.push(line), ...more });
  const join = async (kind: Kind, name: string = kind): Promise<Joined> => {
    const got: Event[] = [];
    const receiver = {
      event: (event: Event) => void got.push(event),
      fault: (error: BytebotError) => assert.fail(error),
      closed: () => undefined,
    };
    let link: Link | undefined;
    const connect = async (toHub: Parameters<typeof inprocPair>[1]): Promise<Link> => {
      const pair = inprocPair(name, toHub, receiver);
      link = pair.satellite;
      return pair.hub;
    };
    await hub.connect(offer({ componentId: name, name }), connect, AbortSignal.timeout(10_000));
    link!.send({ event_type: "bb_sync", kind });
    await settle();
    return { link: link!, got, of: (type) => got.filter(({ event_type }) => event_type === type) };
  };
  return { hub, reports, join };
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 8; turn++) await turnOfTheLoop();
}

test("a Hub that is closed takes no connection, and may be closed again (CON-6)", async () => {
  const world = new World();
  await world.join("ui");
  await world.end();
  await world.hub.close();
  await assert.rejects(world.connect({ name: "late" }), { code: "unavailable", message: /the Hub is closed/ });
});

test("a Hub closes when its log has what it was given (LOG-1)", async () => {
  const log = new SlowLog();
  const { hub, join, reports } = hubOn(log);
  const ui = await join("ui");
  log.held = true;
  ui.link.send(message("hello"));
  await settle();
  let closed = false;
  const closing = hub.close().then(() => (closed = true));
  await settle();
  assert.equal(closed, false);
  log.release();
  await closing;
  const entries = [];
  for await (const { events } of log.read("u", 0)) entries.push(...events);
  assert.equal(entries[0]!["text"], "hello");
  assert.deepEqual(reports, []);
});

test("a log that somebody else has moved on gives the work up, and the cell goes on from where the log stands (LOG-4)", async () => {
  const log = new SlowLog();
  const { hub, join, reports } = hubOn(log);
  const [infer, ui] = [await join("infer"), await join("ui")];
  ui.link.send(message("one", "u", { id: "m1" }));
  await settle();
  const pos = (await log.head("u"))!.pos;
  await log.append("u", pos, { id: "another", events: [{ event_type: "note", scope: "u" }] });
  infer.link.send(inferResult(infer.of("bb_infer_request")[0]!));
  await settle();
  const done = ui.of("infer_chunk").at(-1)!;
  assert.deepEqual([done["stop_reason"], (done["error"] as { code: string }).code], ["error", "conflict"]);
  assert.match(reports.join(), /the log refused an entry of cell "u": cell "u" is at/);
  ui.link.send(message("two", "u", { id: "m2" }));
  await settle();
  assert.equal(ui.of("bb_ack").at(-1)!["in_reply_to"], "m2");
  infer.link.send(inferResult(infer.of("bb_infer_request").at(-1)!));
  await settle();
  assert.equal(ui.of("infer_chunk").at(-1)!["stop_reason"], "end_turn");
  await hub.close();
});

test("a log that fails with a mistake of its own is told of like any other, and serves again (LOG-4, ERR-1)", async () => {
  const log = new SlowLog();
  const { hub, join } = hubOn(log);
  const ui = await join("ui");
  log.fault = new TypeError("no such table");
  ui.link.send(message("one", "u", { id: "m1" }));
  await settle();
  assert.deepEqual(
    ui.of("bb_error").map(({ in_reply_to, code }) => [in_reply_to, code]),
    [["m1", "internal"]],
  );
  log.fault = undefined;
  ui.link.send(message("one", "u", { id: "m1" }));
  await settle();
  assert.equal(ui.of("bb_ack").length, 1);
  await hub.close();
});

test("a log that does not answer for twenty seconds has refused the entry (LOG-4)", async () => {
  const world = new World();
  const ui = await world.join("ui");
  const append = world.log.append.bind(world.log);
  const away = new BytebotError("unavailable", "the disk does not answer", { retryable: true });
  world.log.append = () => Promise.reject(away);
  await ui.send(message("one", "u", { id: "m1" }));
  await world.pass(19_000);
  assert.deepEqual(ui.all("bb_error"), []);
  await world.pass(5000);
  const { in_reply_to, code } = ui.last("bb_error");
  assert.deepEqual([in_reply_to, code], ["m1", "unavailable"]);
  world.log.append = append;
  await ui.send(message("one", "u", { id: "m1" }));
  assert.equal(ui.last("bb_ack")["fate"], "started");
  await world.end();
});

test("while a log fails, a UI that joins is shown what there is and a page of history is what the log has (LOG-4, RPL-1, RPL-5)", async () => {
  const log = new SlowLog();
  const { hub, join } = hubOn(log);
  const [infer, ui] = [await join("infer"), await join("ui")];
  ui.link.send(message("one"));
  await settle();
  log.held = true;
  infer.link.send(inferResult(infer.of("bb_infer_request")[0]!));
  ui.link.send(message("two"));
  await settle();
  const late = await join("ui", "late");
  late.link.send({ event_type: "bb_history_request", id: "h", scope: "u" });
  await settle();
  assert.deepEqual([late.of("bb_live"), late.of("bb_history_result")], [[], []]);
  log.fault = new BytebotError("unavailable", "disk full", { retryable: false });
  log.release();
  for (let n = 0; n < 5; n++) await settle();
  assert.equal(late.of("bb_live").length, 1);
  const [page] = late.of("bb_history_result");
  assert.deepEqual(
    (page!["events"] as Event[]).map(({ event_type, text }) => [event_type, text]),
    [["user_event", "one"]],
  );
  log.fault = undefined;
  await hub.close();
});

test("what gathers while a log is slow goes in few entries, each of no more events than one may have, in its order (LOG-2)", async () => {
  const log = new SlowLog();
  const { hub, join } = hubOn(log, { retention: { events: 100, bytes: Infinity }, quotas: { events: Infinity } });
  const [infer, ui] = [await join("infer"), await join("ui")];
  ui.link.send(message("go"));
  await settle();
  const request = infer.of("bb_infer_request")[0]!;
  for (let round = 0; round < 3; round++) {
    log.held = true;
    for (let n = 0; n < 150; n++) {
      for (const chunk of textChunks(request, `${round}.${n}`, round * 150 + n)) infer.link.send(chunk);
      if (n === 75) await settle();
    }
    await settle();
    log.release();
    await settle();
  }
  infer.link.send(inferResult(request));
  await settle();
  const shown = ui
    .of("infer_chunk")
    .flatMap(({ kind, block }) => (kind === "block_stop" ? [block as { text: string }] : []));
  assert.equal(shown.length, 450);
  assert.equal(ui.of("infer_chunk").at(-1)!["stop_reason"], "end_turn");
  const seqs = ui.got.flatMap(({ seq }) => (typeof seq === "number" ? [seq] : []));
  assert.deepEqual(
    seqs,
    seqs.toSorted((a, b) => a - b),
  );
  await hub.close();
});

test("a watcher that throws something else than an error is told of too", async () => {
  const world = new World();
  for (const thrown of ["a text", Object.assign(new Error("an error"), { stack: undefined })])
    world.hub.watch(() => {
      throw thrown; // oxlint-disable-line typescript/only-throw-error -- what a program of somebody else's may do
    });
  const ui = await world.join("ui");
  await ui.send(message("hello"));
  assert.equal(ui.all("user_event").length, 1);
  for (const told of ["fault: a text", "fault: an error"]) assert.ok(world.reports.includes(told), told);
  await world.hub.close();
});
