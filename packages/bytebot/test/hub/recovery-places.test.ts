import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryLog, type NewEntry, type Place } from "../../src/log/index.ts";
import { checkRecalled } from "./recalled.ts";
import { cutAfter, goOn, restarted } from "./restart.ts";
import { inferResult, message, register, textChunks, toolChunks, toolResult, World, type Peer } from "./world.ts";

const policy = [{ tool: "*", decision: "ask" as const }];
const SMALL = { events: 2, bytes: Infinity };

/** A turn that has come to a question about its call. */
async function approving(world: World): Promise<{ infer: Peer; ui: Peer }> {
  const infer = await world.join("infer");
  await (await world.join("toolsource")).send(register("read"));
  const ui = await world.join("ui");
  await ui.send(message("go"));
  const asked = infer.last("bb_infer_request");
  await infer.send(...toolChunks(asked, "read", { path: "a" }), inferResult(asked, "tool_use"));
  return { infer, ui };
}

for (const retention of [undefined, SMALL]) {
  test(`a question that is still open after a restart is shown as it was, with its place in the log${retention ? ", of which a snapshot is left" : ""} (REC-5, REC-7)`, async () => {
    const options = retention ? { policy, retention } : { policy };
    const before = new World(options);
    const { ui } = await approving(before);
    if (retention) for (const text of ["one", "two", "three"]) await ui.send(message(text));
    const question = ui.last("input_strict");
    const whole = await before.entries();
    await before.hub.close();
    const world = await restarted(await cutAfter(whole, Infinity), options);
    const late = await world.join("ui", { primary: true });
    const { seq, cursor, ts, id } = late.last("input_strict");
    assert.ok(typeof seq === "number" && typeof cursor === "string", "it is in the log");
    assert.deepEqual([seq, ts, id], [question["seq"], question["ts"], question["id"]]);
    await world.hub.close();
  });
}

/** A log that answers when the test says so. */
class LateLog extends MemoryLog {
  private late: (() => void)[] | undefined;

  override append(cell: string, expected: number, entry: NewEntry): Place | Promise<Place> {
    const { late } = this;
    if (!late) return super.append(cell, expected, entry);
    return new Promise<void>((resolve) => late.push(resolve)).then(() => super.append(cell, expected, entry));
  }

  hold(): void {
    this.late = [];
  }

  release(): void {
    const late = this.late ?? [];
    this.late = undefined;
    for (const resolve of late) resolve();
  }
}

test("an input that was on its way to the log when a snapshot was taken has its place when it is sent again after a restart (ENV-3, REC-6)", async () => {
  const log = new LateLog();
  const before = new World({ log, retention: { events: 1, bytes: Infinity } });
  await before.join("infer");
  const ui = await before.join("ui");
  log.hold();
  await ui.send(message("first", "u", { id: "m1" }), message("second", "u", { id: "m2" }));
  log.release();
  for (let turn = 0; turn < 5; turn++) await before.settle();
  const acks = ui.all("bb_ack").map(({ seq, fate }) => [seq, fate]);
  const whole = await before.entries();
  assert.ok(whole.some(({ base }) => base));
  await before.hub.close();
  const world = await restarted(await cutAfter(whole, Infinity));
  const late = await world.join("ui");
  await late.send(message("first", "u", { id: "m1" }), message("second", "u", { id: "m2" }));
  assert.deepEqual(
    late.all("bb_ack").map(({ seq, fate }) => [seq, fate]),
    acks,
  );
  await world.hub.close();
});

test("whoever asked a question of its own asks it anew after a restart, also where a snapshot stood between (REC-5, ENV-3)", async () => {
  const options = { retention: SMALL };
  const before = new World(options);
  before.hub.expectContext("context", ["*"]);
  const ask = { event_type: "bb_input_request", id: "ask1", scope: "u", prompt: "which one?", options: ["a", "b"] };
  const context = await before.join("context");
  const ui = await before.join("ui");
  await ui.send(message("go"));
  await context.send(ask);
  await ui.send(message("more"), message("and more"));
  const whole = await before.entries();
  assert.ok(whole.some(({ base, events }) => base && JSON.stringify(events).includes("which one?")));
  await before.hub.close();
  const world = await restarted(await cutAfter(whole, Infinity), options);
  world.hub.expectContext("context", ["*"]);
  const again = await world.join("context");
  const late = await world.join("ui");
  await goOn(world);
  await again.send(ask);
  // Enough for a snapshot behind the question, and what is before it is trimmed: its beginning is in no log any more.
  await late.send(message("and another word of it ".repeat(20)));
  await late.send({
    event_type: "input_reply",
    in_reply_to: late.last("input_strict")["id"],
    outcome: "accepted",
    value: "b",
  });
  assert.equal(again.last("bb_input_result")["value"], "b");
  await world.hub.close();
});

test("an owner's call that was told to stop is not sent again after a restart (REC-4, TOL-6)", async () => {
  for (const retention of [undefined, { events: 1, bytes: Infinity }]) {
    const options = retention ? { retention } : {};
    const before = new World(options);
    const tools = await before.join("toolsource");
    const definition = { name: "look", input_schema: { type: "object" }, annotations: { idempotent: true } };
    const registration = { event_type: "bb_tool_register", id: "reg", tools: [definition] };
    await tools.send(registration);
    const app = await before.join("ui", { name: "app", owner: true });
    await app.send({ event_type: "bb_tool_call_request", id: "k1", scope: "u", name: "look", input: {} });
    await app.send({ event_type: "interrupt", id: "i1", scope: "u" });
    assert.equal(tools.all("bb_cancel").length, 1);
    const whole = await before.entries();
    await before.hub.close();
    const world = await restarted(await cutAfter(whole, Infinity), options);
    const back = await world.join("toolsource");
    await back.send(registration);
    const again = await world.join("ui", { name: "app", owner: true });
    await goOn(world);
    assert.equal(back.all("bb_tool_call_request").length, 0);
    assert.equal(again.last("bb_tool_call_result")["status"], "cancelled");
    await world.hub.close();
  }
});

test("a question that nobody answered before the Hub went on ends its call, and what the Hub knows is what its log says (REC-1, REC-5)", async () => {
  const before = new World({ policy });
  await approving(before);
  const log = await cutAfter(await before.entries(), Infinity);
  await before.hub.close();
  const world = await restarted(log, { policy });
  await world.pass(300_001);
  checkRecalled(world.hub["core"], await world.entries(), new Set());
  const infer = await world.join("infer");
  await goOn(world);
  const request = infer.last("bb_infer_request");
  assert.match(JSON.stringify(request["messages"]), /Nobody answered/);
  await infer.send(...textChunks(request, "well"), inferResult(request));
  await world.end();
});

test("a call that was approved and waits for room is not asked for again after a restart, also where a snapshot is all that is left (REC-5, REC-6)", async () => {
  const options = { policy, quotas: { calls: 1 } };
  const before = new World({ ...options, retention: { events: 8, bytes: Infinity } });
  const infer = await before.join("infer");
  const ui = await before.join("ui");
  await (await before.join("toolsource")).send(register("read"));
  for (const scope of ["u/a", "u/b"]) {
    await ui.send(message("go", scope));
    const asked = infer.last("bb_infer_request");
    await infer.send(...toolChunks(asked, "read", {}), inferResult(asked, "tool_use"));
    const question = ui.last("input_strict")["id"];
    await ui.send({ event_type: "input_reply", in_reply_to: question, outcome: "accepted", value: "once" });
  }
  for (const text of ["one", "two", "three", "four"]) await ui.send(message(text, "u/b"));
  const whole = await before.entries();
  assert.ok(whole.findLast(({ cell, base }) => cell === "u/b" && base));
  await before.hub.close();
  const world = await restarted(await cutAfter(whole, Infinity), options);
  checkRecalled(world.hub["core"], await world.entries(), new Set());
  const tools = await world.join("toolsource");
  await tools.send(register("read"));
  const late = await world.join("ui");
  await goOn(world);
  assert.deepEqual(late.all("input_strict"), []);
  assert.deepEqual(
    tools.all("bb_tool_call_request").map(({ scope }) => scope),
    ["u/b"],
  );
  await world.hub.close();
});

test("what a turn that is held was allowed runs when the Hub goes on; a call that was asked for meanwhile is not ended with it (REC-4)", async () => {
  const before = new World({ policy: [{ tool: "*", decision: "ask" }] });
  await approving(before);
  const log = await cutAfter(await before.entries(), Infinity);
  await before.hub.close();
  const world = await restarted(log, { recovery: "wait" });
  const tools = await world.join("toolsource");
  await tools.send(register("read", "write"));
  await world.join("infer");
  const ui = await world.join("ui");
  await goOn(world);
  const question = ui.last("input_strict")["id"];
  await ui.send({ event_type: "input_reply", in_reply_to: question, outcome: "accepted", value: "once" });
  assert.equal(tools.all("bb_tool_call_request").length, 0, "its turn is held");
  checkRecalled(world.hub["core"], await world.entries(), new Set());
  await ui.send({ event_type: "bb_tool_call_request", id: "k1", scope: "u", name: "write", input: {} });
  const running = tools.last("bb_tool_call_request");
  world.hub.resume("u", "end");
  await world.settle();
  assert.equal(ui.all("infer_chunk").at(-1)?.["stop_reason"], "interrupted");
  assert.equal(tools.all("bb_tool_call_request").length, 1);
  await tools.send(toolResult(running, "written"));
  assert.equal(ui.last("bb_tool_call_result")["status"], "ok");
  await world.end();
});
