import assert from "node:assert/strict";
import { test } from "node:test";
import { Hub, offer } from "../../src/hub/index.ts";
import { MemoryLog, type EventLog, type NewEntry, type Place } from "../../src/log/index.ts";
import { inprocPair, type Link } from "../../src/transport/index.ts";
import { BytebotError, type Event, type Kind } from "../../src/wire/index.ts";
import { inferResult, message, register, textChunks, toolChunks } from "./world.ts";

/** A real log with a disk that is full when a test says so: the fault is outside, where the engine meets it. */
class FaultyLog extends MemoryLog {
  fault: BytebotError | undefined;
  private holding: (() => void)[] = [];
  held = false;

  override async append(cell: string, expected: number, entry: NewEntry): Promise<Place> {
    if (this.held) await new Promise<void>((resolve) => this.holding.push(resolve));
    if (this.fault) throw this.fault;
    return super.append(cell, expected, entry);
  }

  release(): void {
    this.held = false;
    for (const resolve of this.holding.splice(0)) resolve();
  }
}

async function joined(
  hub: Hub,
  kind: Kind,
): Promise<{ link: Link; got: Event[]; next: (type: string) => Promise<Event> }> {
  const got: Event[] = [];
  let link: Link | undefined;
  let heard = Promise.withResolvers<void>();
  const receiver = {
    event: (event: Event) => {
      got.push(event);
      heard.resolve();
      heard = Promise.withResolvers();
    },
    fault: (error: BytebotError) => assert.fail(error),
    closed: () => undefined,
  };
  await hub.connect(
    offer({ componentId: kind, name: kind }),
    async (toHub) => {
      const pair = inprocPair(kind, toHub, receiver);
      link = pair.satellite;
      return pair.hub;
    },
    AbortSignal.timeout(10_000),
  );
  const next = async (type: string): Promise<Event> => {
    for (;;) {
      const at = got.findIndex((event) => event.event_type === type);
      if (at !== -1) return got.splice(at, 1)[0]!;
      await heard.promise;
    }
  };
  link!.send({ event_type: "bb_sync", kind });
  await next("bb_sync_ack");
  return { link: link!, got, next };
}

const full = new BytebotError("unavailable", "disk full", { retryable: false });

function hubOn(log: EventLog): { hub: Hub; reports: string[] } {
  const reports: string[] = [];
  return { hub: new Hub({ name: "h", version: "0", log, report: (line) => reports.push(line) }), reports };
}

test("nothing is acknowledged, shown or asked for before it is in the log (LOG-1)", async () => {
  const log = new FaultyLog();
  const { hub } = hubOn(log);
  const infer = await joined(hub, "infer");
  const ui = await joined(hub, "ui");
  log.held = true;
  ui.link.send(message("hello", "u", { id: "m1" }));
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(
    ui.got.filter(({ event_type }) => event_type !== "bb_live"),
    [],
  );
  assert.deepEqual(infer.got, []);
  log.release();
  assert.equal((await ui.next("bb_ack"))["fate"], "started");
  const request = await infer.next("bb_infer_request");
  infer.link.send(inferResult(request));
  assert.equal((await ui.next("infer_chunk"))["stop_reason"], "end_turn");
  await hub.close();
});

test("a full disk: no acknowledgement, a clear error, nothing half done; and service when there is room again (LOG-4)", async () => {
  const log = new FaultyLog();
  const { hub, reports } = hubOn(log);
  const infer = await joined(hub, "infer");
  const ui = await joined(hub, "ui");
  log.fault = full;
  ui.link.send(message("hello", "u", { id: "m1" }));
  const refused = await ui.next("bb_error");
  assert.deepEqual([refused["code"], refused["in_reply_to"]], ["unavailable", "m1"]);
  assert.equal((await ui.next("infer_chunk"))["stop_reason"], "error", "whoever watches is told, live only");
  assert.match(reports.join(), /the log refused an entry of cell "u": disk full/);
  log.fault = undefined;
  ui.link.send(message("hello", "u", { id: "m1" }));
  assert.equal((await ui.next("bb_ack"))["fate"], "started");
  const request = await infer.next("bb_infer_request");
  log.fault = full;
  infer.link.send(inferResult(request));
  let done = await ui.next("infer_chunk");
  assert.deepEqual([done["stop_reason"], (done["error"] as { code: string }).code], ["error", "unavailable"]);
  log.fault = undefined;
  ui.link.send(message("and again", "u", { id: "m2" }));
  infer.link.send(inferResult(await infer.next("bb_infer_request")));
  done = await ui.next("infer_chunk");
  assert.equal(done["stop_reason"], "interrupted", "now the log has the end of what was given up");
  done = await ui.next("infer_chunk");
  assert.equal(done["stop_reason"], "end_turn");
  await hub.close();
});

test("an append whose outcome is unknown is repeated under the same id, and happens once (LOG-4)", async () => {
  const log = new FaultyLog();
  const { hub } = hubOn(log);
  const infer = await joined(hub, "infer");
  const ui = await joined(hub, "ui");
  log.fault = new BytebotError("unavailable", "the disk does not answer", { retryable: true });
  ui.link.send(message("hello", "u", { id: "m1" }));
  log.held = true;
  await new Promise((resolve) => setImmediate(resolve));
  log.fault = undefined;
  log.release();
  assert.equal((await ui.next("bb_ack"))["fate"], "started");
  infer.link.send(inferResult(await infer.next("bb_infer_request")));
  await ui.next("infer_chunk");
  let inputs = 0;
  for await (const { events } of log.read("u", 0))
    inputs += events.filter(({ event_type }) => event_type === "user_event").length;
  assert.equal(inputs, 1);
  await hub.close();
});

test("after a refused entry, an input that was acknowledged before it is answered as before, and runs once (LOG-4, ENV-3)", async () => {
  const log = new FaultyLog();
  const { hub } = hubOn(log);
  const infer = await joined(hub, "infer");
  const ui = await joined(hub, "ui");
  ui.link.send(message("hello", "u", { id: "m1" }));
  const first = await ui.next("bb_ack");
  log.fault = full;
  infer.link.send(inferResult(await infer.next("bb_infer_request")));
  assert.equal((await ui.next("infer_chunk"))["stop_reason"], "error");
  log.fault = undefined;
  ui.link.send(message("hello", "u", { id: "m1" }));
  const second = await ui.next("bb_ack");
  assert.deepEqual([second["seq"], second["fate"]], [first["seq"], first["fate"]]);
  let inputs = 0;
  for await (const { events } of log.read("u", 0))
    inputs += events.filter(({ event_type }) => event_type === "user_event").length;
  assert.equal(inputs, 1);
  await hub.close();
});

test("a refused entry: who asked gets the failure, the dialog closes, what was queued goes back to its sender (LOG-4)", async () => {
  const log = new FaultyLog();
  const { hub } = hubOn(log);
  const infer = await joined(hub, "infer");
  const tools = await joined(hub, "toolsource");
  tools.link.send(register("write"));
  await tools.next("bb_tool_register_result");
  const ui = await joined(hub, "ui");
  ui.link.send(message("hello", "u", { id: "m1" }));
  const request = await infer.next("bb_infer_request");
  for (const chunk of toolChunks(request, "write", {})) infer.link.send(chunk);
  infer.link.send(inferResult(request, "tool_use"));
  const { call_id } = await tools.next("bb_tool_call_request");
  tools.link.send({ event_type: "bb_input_request", id: "k1", call_id, prompt: "Sure?" });
  const question = await ui.next("input_strict");
  tools.link.send({ event_type: "bb_turn_request", id: "t1", call_id, scope: "u/~a", content: "think" });
  const child = await infer.next("bb_infer_request");
  ui.link.send(message("and then", "u", { id: "m2" }));
  assert.equal((await ui.next("bb_ack"))["fate"], "started");
  assert.equal((await ui.next("bb_ack"))["fate"], "queued");
  log.fault = full;
  for (const chunk of textChunks(child, "hm")) infer.link.send(chunk);
  const [asked, turn] = [await tools.next("bb_input_result"), await tools.next("bb_turn_result")];
  assert.deepEqual([asked["in_reply_to"], asked["success"], typeof asked["ts"]], ["k1", false, "number"]);
  assert.deepEqual([turn["in_reply_to"], turn["success"], typeof turn["ts"]], ["t1", false, "number"]);
  const resolved = await ui.next("input_resolved");
  assert.deepEqual([resolved["id"], resolved["outcome"], resolved["seq"]], [question["id"], "cancelled", undefined]);
  const returned = await ui.next("input_state");
  assert.deepEqual([returned["id"], returned["fate"]], ["m2", "returned"]);
  log.fault = undefined;
  await hub.close();
});
