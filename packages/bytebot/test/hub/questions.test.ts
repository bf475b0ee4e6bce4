import assert from "node:assert/strict";
import { test } from "node:test";
import type { Event } from "../../src/wire/index.ts";
import { inferResult, message, register, toolChunks, toolResult, World, type Peer } from "./world.ts";

/** A turn that stands in a tool call. */
async function inCall(world: World): Promise<{ infer: Peer; tools: Peer; ui: Peer; call: Event }> {
  const infer = await world.join("infer");
  const tools = await world.join("toolsource");
  const ui = await world.join("ui");
  await tools.send(register("read"));
  await ui.send(message("go"));
  const request = infer.last("bb_infer_request");
  await infer.send(...toolChunks(request, "read", { path: "a" }), inferResult(request, "tool_use"));
  return { infer, tools, ui, call: tools.last("bb_tool_call_request") };
}

const ask = (call: Event, more: Record<string, unknown> = {}): Event => ({
  event_type: "bb_input_request",
  id: "ask_1",
  call_id: call["call_id"],
  prompt: "Which one?",
  options: ["red", "blue"],
  ...more,
});

const reply = (question: Event, value: unknown, outcome = "accepted"): Event => ({
  event_type: "input_reply",
  id: `reply_${JSON.stringify(value)}`,
  in_reply_to: question["id"],
  outcome,
  value,
});

async function finishTurn({ infer, tools, call }: { infer: Peer; tools: Peer; call: Event }): Promise<void> {
  await tools.send(toolResult(call, "x"));
  await infer.send(inferResult(infer.last("bb_infer_request")));
}

test("a question reaches every input-capable UI, the primary marked; the first valid answer wins and everyone is told (QUE-2, QUE-3, QUE-5, hard case 25)", async () => {
  const world = new World();
  const here = await inCall(world);
  const second = await world.join("ui", { name: "second" });
  const watcher = await world.join("ui", { name: "watcher", inputCapable: false });
  await here.tools.send(ask(here.call));
  const question = here.ui.last("input_strict");
  assert.equal(question["primary"], true);
  assert.equal(second.last("input_strict")["primary"], undefined);
  assert.equal(watcher.all("input_strict").length, 0);
  await watcher.send(reply(question, "red"));
  assert.equal(watcher.last("bb_error")["code"], "forbidden");
  await Promise.all([here.ui.send(reply(question, "red")), second.send(reply(question, "blue"))]);
  const result = here.tools.last("bb_input_result");
  assert.deepEqual([result["outcome"], result["value"], result["in_reply_to"]], ["accepted", "red", "ask_1"]);
  assert.equal(here.tools.all("bb_input_result").length, 1);
  assert.equal(second.last("bb_error")["code"], "not_found");
  for (const ui of [here.ui, second])
    assert.deepEqual([ui.last("input_resolved")["outcome"], ui.last("input_resolved")["by"]], ["accepted", "ui"]);
  await finishTurn(here);
  await world.end();
});

test("an invalid value keeps the question open; an unknown outcome means declined (QUE-3, QUE-4, ENV-9)", async () => {
  const world = new World();
  const here = await inCall(world);
  await here.tools.send(
    ask(here.call, {
      options: undefined,
      schema: { type: "object", required: ["n"], properties: { n: { type: "number" } } },
    }),
  );
  assert.equal(here.tools.last("bb_error")["code"], "invalid_event", "an undefined field does not cross in-proc");
  const { options: _, ...bare } = ask(here.call);
  await here.tools.send({
    ...bare,
    schema: { type: "object", required: ["n"], properties: { n: { type: "number" } } },
  });
  const question = here.ui.last("input_strict");
  await here.ui.send(reply(question, { n: "one" }));
  assert.equal(here.ui.last("bb_error")["code"], "invalid_params");
  assert.equal(here.tools.all("bb_input_result").length, 0);
  await here.ui.send(reply(question, { n: 1 }, "perhaps"));
  assert.equal(here.tools.last("bb_input_result")["outcome"], "declined");
  assert.equal(here.tools.last("bb_input_result")["success"], false);
  await finishTurn(here);
  await world.end();
});

test("nobody answers: the question expires, and a call's own clock stood still meanwhile (QUE-6, TOL-8, hard case 24)", async () => {
  const world = new World({ limits: { questionMs: 60_000, toolMs: 10_000 } });
  const here = await inCall(world);
  await world.pass(4000);
  await here.tools.send(ask(here.call));
  await world.pass(59_999);
  assert.equal(here.tools.all("bb_input_result").length, 0);
  await world.pass(1);
  assert.equal(here.tools.last("bb_input_result")["outcome"], "expired");
  assert.equal(here.ui.last("input_resolved")["outcome"], "expired");
  await world.pass(5999);
  assert.equal(here.ui.all("tool_result").length, 0, "six of its ten seconds were left");
  await world.pass(1);
  assert.equal(here.ui.last("tool_result")["status"], "timeout");
  await here.infer.send(inferResult(here.infer.last("bb_infer_request")));
  await world.end();
});

test("without anybody who could answer a question has expired at once (QUE-2)", async () => {
  const world = new World();
  const here = await inCall(world);
  await here.ui.link.close("left");
  await here.tools.send(ask(here.call));
  assert.equal(here.tools.last("bb_input_result")["outcome"], "expired");
  await finishTurn(here);
  await world.end();
});

test("a late joiner sees what is open, and its answer counts (QUE-2, RPL-1, hard case 25)", async () => {
  const world = new World();
  const here = await inCall(world);
  await here.tools.send(ask(here.call));
  const late = await world.join("ui", { name: "late" });
  assert.deepEqual(
    late.got.map(({ event_type }) => event_type),
    ["bb_sync_ack", "scope_state", "input_strict", "bb_live"],
  );
  await late.send(reply(late.last("input_strict"), "blue"));
  assert.equal(here.tools.last("bb_input_result")["value"], "blue");
  await finishTurn(here);
  await world.end();
});

test("the end of a call, an interrupt and a lost asker cancel its questions (QUE-6, hard case 24)", async () => {
  for (const how of ["result", "interrupt", "lost"]) {
    const world = new World();
    const here = await inCall(world);
    await here.tools.send(ask(here.call));
    if (how === "result") await here.tools.send(toolResult(here.call, "did not wait"));
    else if (how === "interrupt") await here.ui.send({ event_type: "interrupt", scope: "u" });
    else await here.tools.link.close("killed");
    await world.settle();
    assert.equal(here.ui.last("input_resolved")["outcome"], "cancelled", how);
    await here.ui.send(reply(here.ui.last("input_strict"), "red"));
    assert.equal(here.ui.last("bb_error")["code"], "not_found", how);
    if (how === "interrupt") await here.tools.send(toolResult(here.call, "x"));
    else await here.infer.send(inferResult(here.infer.last("bb_infer_request")));
    await world.end();
  }
});

test("a tool asks within its own call, a context in any scope it serves; nobody else asks (QUE-1)", async () => {
  const world = new World();
  const here = await inCall(world);
  await here.tools.send({ event_type: "bb_input_request", id: "ask_2", scope: "u", prompt: "?" });
  assert.equal(here.tools.last("bb_error")["code"], "invalid_params");
  await here.tools.send(ask({ event_type: "", call_id: "c_of_another" }));
  assert.equal(here.tools.last("bb_error")["code"], "not_found");
  await here.infer.send({ event_type: "bb_input_request", id: "ask_3", scope: "u", prompt: "?" });
  assert.equal(here.infer.last("bb_error")["code"], "forbidden");
  const context = await world.join("context");
  await context.send({ event_type: "bb_input_request", id: "ask_4", scope: "u", prompt: "Your name?" });
  await here.ui.send(reply(here.ui.last("input_strict"), "Ada"));
  assert.equal(context.last("bb_input_result")["value"], "Ada");
  await finishTurn({ ...here, infer: here.infer });
  await world.end({ finished: false });
});

test("calls of a controller's, and what has to be asked about them, are bounded; one that was refused may be asked for again (TOL-11, QUE-1)", async () => {
  const world = new World({
    limits: { ownCalls: 4, questions: 3 },
    policy: [{ tool: "*", input: { "/ask": "true" }, decision: "ask" }],
  });
  const tools = await world.join("toolsource");
  await tools.send(register("read"));
  const ui = await world.join("ui", { owner: true }, { owner: true });
  const call = (id: string, ask: boolean): Event => ({
    ...{ event_type: "bb_tool_call_request", id, scope: "u", name: "read", input: { ask } },
  });
  const answer = (id: string): Event => {
    const found = ui.all("bb_tool_call_result").find(({ in_reply_to }) => in_reply_to === id);
    assert.ok(found, id);
    return found;
  };
  for (let n = 0; n < 4; n++) await ui.send(call(`k${n}`, true));
  assert.equal(ui.all("input_strict").length, 3);
  assert.deepEqual(
    [answer("k3")["status"], (answer("k3")["error"] as Event)["code"], (answer("k3")["error"] as Event)["retryable"]],
    ["error", "overloaded", true],
  );
  await ui.send(call("k4", false), call("k5", false));
  assert.deepEqual(
    [ui.last("bb_error")["code"], ui.last("bb_error")["retryable"], ui.last("bb_error")["in_reply_to"]],
    ["overloaded", true, "k5"],
  );
  await ui.send(call("k0", true));
  assert.equal(ui.all("bb_error").length, 1, "the same again is the same");
  await tools.send(toolResult(tools.last("bb_tool_call_request"), "read"));
  await ui.send(call("k5", false));
  await tools.send(toolResult(tools.last("bb_tool_call_request"), "read"));
  assert.equal(answer("k5")["status"], "ok");
  for (const question of ui.all("input_strict")) await ui.send(reply(question, "deny"));
  assert.equal(answer("k0")["status"], "denied");
  await world.end();
});

test("a conversation has a bounded number of questions open; more are refused, and may be asked again (QUE-1)", async () => {
  const world = new World({ limits: { questions: 2 } });
  const context = await world.join("context");
  const ui = await world.join("ui");
  const asking = (id: string): Event => ({ event_type: "bb_input_request", id, scope: "u", prompt: "?" });
  await context.send(asking("k1"), asking("k2"), asking("k3"));
  assert.equal(context.last("bb_error")["code"], "overloaded");
  await ui.send(reply(ui.all("input_strict")[0]!, "yes"));
  await context.send(asking("k3"));
  assert.equal(ui.all("input_strict").length, 3);
  for (const question of ui.all("input_strict").slice(1)) await ui.send(reply(question, String(question["id"])));
  await world.end();
});
