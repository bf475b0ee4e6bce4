import assert from "node:assert/strict";
import { duplexPair } from "node:stream";
import { test } from "node:test";
import { offer } from "../../src/hub/index.ts";
import { LineLink } from "../../src/transport/lines.ts";
import type { Event } from "../../src/wire/index.ts";
import { inferResult, message, register, toolChunks, toolResult, World, type Peer } from "./world.ts";

async function calling(
  world: World,
  offered = register("read", "write"),
): Promise<{ infer: Peer; tools: Peer; ui: Peer; owner: Peer }> {
  const infer = await world.join("infer");
  const tools = await world.join("toolsource");
  const ui = await world.join("ui");
  const owner = await world.join("ui", { name: "owner", owner: true }, { owner: true, types: [] });
  await tools.send(offered);
  await ui.send(message("go"));
  const request = infer.last("bb_infer_request");
  await infer.send(...toolChunks(request, "read", {}), inferResult(request, "tool_use"));
  return { infer, tools, ui, owner };
}

test("interrupts again and again do not put off the end of a tool that ignores them (INT-4)", async () => {
  const world = new World();
  const { ui } = await calling(world);
  for (let at = 0; at < 3; at++) {
    await ui.send({ event_type: "interrupt", scope: "u" });
    await world.pass(400);
  }
  assert.equal(ui.last("infer_chunk")["stop_reason"], "interrupted");
  await world.end();
});

test("a call begun after an interrupt is not ended with it, and one beside a turn is ended without it (INT-1, INT-4)", async () => {
  const world = new World();
  const { infer, tools, ui, owner } = await calling(world);
  const call = { event_type: "bb_tool_call_request", name: "write", input: {}, scope: "u" };
  await owner.send({ ...call, id: "before" });
  await ui.send({ event_type: "interrupt", scope: "u" });
  await world.pass(300);
  await owner.send({ ...call, id: "after" });
  const [, , after] = tools.all("bb_tool_call_request");
  await world.pass(700);
  assert.deepEqual(
    owner.all("bb_tool_call_result").map(({ in_reply_to, status }) => [in_reply_to, status]),
    [["before", "cancelled"]],
  );
  await world.pass(5000);
  await tools.send(toolResult(after!, "done"));
  assert.deepEqual(
    [owner.last("bb_tool_call_result")["in_reply_to"], owner.last("bb_tool_call_result")["status"]],
    ["after", "ok"],
  );
  assert.equal(infer.all("bb_infer_request").length, 1);
  await world.end();
});

test("a tool that is defined anew while the person decides does not run on that approval (POL-2)", async () => {
  const world = new World({ policy: [{ tool: "read", decision: "ask" }] });
  const { infer, tools, ui } = await calling(world);
  const [tool] = register("read")["tools"] as [Record<string, unknown>];
  await tools.send({
    event_type: "bb_tool_register",
    id: "again",
    tools: [{ ...tool, description: "something else" }],
  });
  await ui.send({
    event_type: "input_reply",
    in_reply_to: ui.last("input_strict")["id"],
    outcome: "accepted",
    value: "once",
  });
  assert.equal(tools.all("bb_tool_call_request").length, 0);
  assert.match(JSON.stringify(ui.last("tool_result")["content"]), /removed or changed/);
  await infer.send(inferResult(infer.last("bb_infer_request")));
  await world.end();
});

test("arguments nested deeper than any line may be never run, and the turn goes on (CHK-6, hard case 5)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const tools = await world.join("toolsource");
  const ui = await world.join("ui");
  await tools.send(register("read"));
  await ui.send(message("go"));
  const request = infer.last("bb_infer_request");
  const of = { event_type: "infer_chunk", in_reply_to: request["id"], index: 0, block_type: "tool_use" };
  const delta = `{"a":${"[".repeat(20_000)}${"]".repeat(20_000)}}`;
  await infer.send(
    { ...of, kind: "block_start", name: "read" },
    { ...of, kind: "block_delta", delta },
    inferResult(request, "tool_use"),
  );
  assert.equal(ui.last("tool_result")["status"], "error");
  assert.equal(tools.all("bb_tool_call_request").length, 0);
  await infer.send(inferResult(infer.last("bb_infer_request")));
  await world.end();
});

test("a round of many or of large blocks is logged whole (LOG-2)", async () => {
  for (const content of [
    Array.from({ length: 300 }, (_, index) => ({ type: "text", text: String(index) })),
    Array.from({ length: 6 }, () => ({ type: "text", text: "x".repeat(60_000) })),
  ]) {
    const world = new World();
    const infer = await world.join("infer");
    const ui = await world.join("ui");
    await ui.send(message("go"));
    await infer.send({ ...inferResult(infer.last("bb_infer_request")), content });
    assert.equal(ui.last("infer_chunk")["stop_reason"], "end_turn");
    await ui.send({ event_type: "bb_history_request", id: "h", scope: "u", limit: 1000 });
    const events = ui.last("bb_history_result")["events"] as { kind?: string; block?: Event }[];
    const blocks = events.filter(({ kind }) => kind === "block_stop").map(({ block }) => block!);
    assert.deepEqual(blocks as unknown, content);
    await world.hub.close();
  }
});

const idempotent: Event = {
  event_type: "bb_tool_register",
  id: "put",
  tools: [{ name: "read", input_schema: { type: "object" }, annotations: { idempotent: true } }],
};

test("an idempotent call that was told to stop is not sent again when its component returns (TOL-6, INT-1)", async () => {
  const world = new World();
  const { infer, tools, ui } = await calling(world, idempotent);
  await ui.send({ event_type: "interrupt", scope: "u" });
  await tools.link.close("died of it");
  await world.settle();
  assert.equal(ui.last("tool_result")["status"], "cancelled");
  const back = await world.join("toolsource");
  await back.send(idempotent);
  assert.equal(back.all("bb_tool_call_request").length, 0);
  assert.equal(ui.last("infer_chunk")["stop_reason"], "interrupted");
  assert.equal(infer.all("bb_infer_request").length, 1);
  await world.end();
});

test("an idempotent call with a question open is sent again like any other, with what was left of its time (TOL-6, TOL-8)", async () => {
  const world = new World({ limits: { toolMs: 10_000 } });
  const { infer, tools, ui } = await calling(world, idempotent);
  const call = tools.last("bb_tool_call_request");
  await world.pass(4000);
  await tools.send({ event_type: "bb_input_request", id: "k1", call_id: call["call_id"], prompt: "?" });
  await world.pass(30_000);
  await tools.link.close("died");
  await world.settle();
  assert.equal(ui.last("input_resolved")["outcome"], "cancelled");
  const back = await world.join("toolsource");
  const again = back.last("bb_tool_call_request");
  assert.deepEqual([again["call_id"], again["deadline_ts"]], [call["call_id"], world.clock.now() + 6000]);
  await back.send(idempotent, toolResult(again, "done"));
  assert.equal(ui.last("tool_result")["status"], "ok");
  await infer.send(inferResult(infer.last("bb_infer_request")));
  await world.end();
});

test("a vendor's event in what is no scope is refused like any other (SCP-1, ENV-8, hard case 36)", async () => {
  const world = new World();
  const ui = await world.join("ui", { scopes: ["u_1"] });
  for (const scope of ["u_1/../u_2", "u_1//x", "u_1/", "u_1/./x", "u_1/~~a"]) {
    await ui.send({ event_type: "com.example/v", scope });
    assert.equal(ui.last("bb_error")["code"], "invalid_event", scope);
  }
  assert.deepEqual(ui.all("com.example/v"), []);
  await world.end();
});

test("an observer that throws is told of, and neither the turn nor any reader notices", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  const watching = world.hub.watch(() => assert.fail("an observer's own mistake"));
  await ui.send(message("hello", "u", { id: "m1" }));
  await infer.send(inferResult(infer.last("bb_infer_request")));
  watching.stop();
  assert.equal(ui.last("bb_ack")["fate"], "started");
  assert.equal(ui.last("infer_chunk")["stop_reason"], "end_turn");
  assert.ok(world.reports.length > 0 && world.reports.every((line) => line.includes("an observer's own mistake")));
  world.reports.length = 0;
  await world.end();
});

test("noise is told line by line ten times, then counted (FRM-11)", async () => {
  const world = new World();
  const ui = await world.join("ui");
  for (let index = 0; index < 50; index++) ui.link.send({ event_type: "user_event", bad: undefined });
  await world.settle();
  assert.equal(ui.all("bb_error").length, 50, "whoever sent it hears of each");
  await ui.link.close("left");
  await world.settle();
  assert.equal(world.reports.length, 11);
  assert.match(world.reports.at(-1)!, /40 more lines that were no events/);
  await world.end();
});

test("what a component writes cannot move the cursor of the terminal that the app reports to, nor fill it (FRM-4, CON-6)", async () => {
  const world = new World();
  const context = await world.join("context");
  const ui = await world.join("ui");
  const nasty = "\u001b]0;owned\u0007\u202e\n[hub] all is well\u009b2J";
  const [near, far] = duplexPair();
  await world.hub.connect(
    offer({ componentId: "tools", name: "tools" }),
    async (receiver) =>
      new LineLink({ name: "tools", readable: near, writable: near, end: async () => void near.destroy() }, receiver),
    new AbortController().signal,
  );
  far.write(`${nasty}${nasty}\n\u202e\n`);
  await world.settle();
  const obeyed = /\p{Bidi_C}|[^\P{Cc}\n]/u;
  assert.equal(world.reports.length, 4, "a report for each line");
  for (const report of world.reports) assert.doesNotMatch(report, obeyed);
  world.hub.expectContext("context", ["*"]);
  await ui.send(message("go"));
  await context.send({ event_type: "bb_bye", reason: nasty.repeat(10_000) });
  const { message: told } = ui.last("infer_chunk")["error"] as { message: string };
  assert.ok(told.length < 30_000, `${told.length} characters`);
  assert.doesNotMatch(told, obeyed);
  far.destroy();
  await world.end();
});
