import assert from "node:assert/strict";
import { test } from "node:test";
import type { Event } from "../../src/wire/index.ts";
import {
  inferResult,
  message,
  register,
  toolChunks,
  toolResult,
  World,
  type Peer,
  type WorldOptions,
} from "./world.ts";

const idempotent: Event = {
  event_type: "bb_tool_register",
  id: "reg",
  tools: [{ name: "read", input_schema: { type: "object" }, annotations: { idempotent: true } }],
};

async function cast(options: WorldOptions = {}, tool = register("read")) {
  const world = new World(options);
  const infer = await world.join("infer");
  const tools = await world.join("toolsource");
  const ui = await world.join("ui");
  const owner = await world.join("ui", { name: "owner", owner: true }, { owner: true });
  await tools.send(tool);
  return { world, infer, tools, ui, owner };
}

/** The model asks for these calls at once. */
async function asks(infer: Peer, ui: Peer, ...names: string[]): Promise<void> {
  await ui.send(message("go"));
  const request = infer.last("bb_infer_request");
  const chunks = names.flatMap((name, index) => toolChunks(request, name, { n: index }, index));
  await infer.send(...chunks, inferResult(request, "tool_use"));
}

const statuses = (ui: Peer): unknown[] => ui.all("tool_result").map(({ status }) => status);

test("a call that waits for room does not run where its tool was removed meanwhile, and the model is told (QTA-2, TRN-5)", async () => {
  const { world, infer, tools, ui } = await cast({ quotas: { calls: 1 } });
  await asks(infer, ui, "read", "read");
  const [first] = tools.all("bb_tool_call_request");
  await tools.send(register("other"), toolResult(first!, "x"));
  assert.equal(tools.all("bb_tool_call_request").length, 1);
  assert.deepEqual(statuses(ui), ["ok", "error"]);
  const next = infer.last("bb_infer_request");
  assert.match(JSON.stringify(next["messages"]), /was removed or changed since it was offered/);
  await infer.send(inferResult(next));
  await world.end();
});

test("a call that waits for room is decided by the policy that holds when it would run: denied, asked for, or as approved (POL-2, QTA-2)", async () => {
  const { world, infer, tools, ui, owner } = await cast({ quotas: { calls: 1 } });
  const policy = (...rules: object[]): Event => ({ event_type: "bb_policy", id: "p", rules });
  await asks(infer, ui, "read", "read", "read");
  await owner.send(policy({ tool: "read", decision: "deny" }));
  await tools.send(toolResult(tools.last("bb_tool_call_request"), "x"));
  assert.equal(tools.all("bb_tool_call_request").length, 1);
  assert.deepEqual(statuses(ui), ["ok", "denied", "denied"]);
  await infer.send(inferResult(infer.last("bb_infer_request")));

  await owner.send(policy());
  await asks(infer, ui, "read", "read");
  await owner.send(policy({ tool: "read", decision: "ask" }));
  await tools.send(toolResult(tools.last("bb_tool_call_request"), "x"));
  assert.equal(tools.all("bb_tool_call_request").length, 2, "it asks first");
  const yes = (question: Event): Event => ({
    ...{ event_type: "input_reply", in_reply_to: question["id"], outcome: "accepted", value: "once" },
  });
  await ui.send(yes(ui.last("input_strict")));
  await tools.send(toolResult(tools.last("bb_tool_call_request"), "x"));
  await infer.send(inferResult(infer.last("bb_infer_request")));

  await asks(infer, ui, "read", "read");
  for (const question of ui.all("input_strict").slice(-2)) await ui.send(yes(question));
  await tools.send(toolResult(tools.last("bb_tool_call_request"), "x"));
  assert.equal(ui.all("input_strict").length, 3, "what was approved is not asked for again");
  await tools.send(toolResult(tools.last("bb_tool_call_request"), "x"));
  assert.equal(tools.all("bb_tool_call_request").length, 5);
  await infer.send(inferResult(infer.last("bb_infer_request")));
  await world.end();
});

test("an idempotent call whose source returns is not sent again where a policy denies it by then (POL-2, TOL-6)", async () => {
  const { world, infer, tools, ui, owner } = await cast({}, idempotent);
  await asks(infer, ui, "read");
  await tools.link.close("crashed");
  await owner.send({ event_type: "bb_policy", id: "p", rules: [{ tool: "read", decision: "deny" }] });
  const back = await world.join("toolsource");
  await back.send(idempotent);
  assert.deepEqual(back.all("bb_tool_call_request"), []);
  assert.deepEqual(statuses(ui), ["lost"]);
  await infer.send(inferResult(infer.last("bb_infer_request")));
  await world.end();
});

test("an interrupt ends a call that waits for room at once, and gives the running one its grace (QTA-2, INT-3)", async () => {
  const { world, infer, tools, ui, owner } = await cast({ quotas: { calls: 1 } });
  await asks(infer, ui, "read", "read");
  await ui.send({ event_type: "interrupt", scope: "u" });
  assert.deepEqual(statuses(ui), ["cancelled"]);
  await tools.send(toolResult(tools.last("bb_tool_call_request"), "just in time"));
  assert.deepEqual(statuses(ui), ["cancelled", "ok"]);
  assert.equal(ui.last("infer_chunk")["stop_reason"], "interrupted");
  await owner.send({ event_type: "bb_tool_call_request", id: "q", scope: "v", name: "read", input: {} });
  await owner.send({ event_type: "bb_tool_call_request", id: "q", scope: "u", name: "read", input: {} });
  assert.equal(tools.all("bb_tool_call_request").length, 3, "and the room is free again");
  for (const request of tools.all("bb_tool_call_request").slice(1)) await tools.send(toolResult(request, "x"));
  await world.end();
});

test("an idempotent call that waits for its source to return ends with an interrupt, its effect unknown (TOL-6, INT-1)", async () => {
  const { world, infer, tools, ui } = await cast({}, idempotent);
  await asks(infer, ui, "read");
  await tools.link.close("crashed");
  await world.settle();
  assert.deepEqual(statuses(ui), []);
  await ui.send({ event_type: "interrupt", scope: "u" });
  assert.deepEqual(statuses(ui), ["cancelled"]);
  assert.match(JSON.stringify(ui.last("tool_result")["content"]), /took effect is not known/);
  const back = await world.join("toolsource");
  await back.send(idempotent);
  assert.deepEqual(back.all("bb_tool_call_request"), []);
  await world.end();
});

test("an idempotent call of the owner's goes out again when its source returns (TOL-6, TOL-11)", async () => {
  const { world, tools, owner } = await cast({}, idempotent);
  await owner.send({ event_type: "bb_tool_call_request", id: "q", scope: "u", name: "read", input: null });
  const sent = tools.last("bb_tool_call_request");
  assert.deepEqual(sent["input"], {}, "no input is an empty one");
  await tools.link.close("crashed");
  await world.settle();
  const back = await world.join("toolsource");
  await back.send(idempotent);
  const again = back.last("bb_tool_call_request");
  assert.deepEqual([again["call_id"], "loop_id" in again], [sent["call_id"], false]);
  await back.send(toolResult(again, "x"));
  assert.deepEqual(
    [owner.last("bb_tool_call_result")["in_reply_to"], owner.last("bb_tool_call_result")["status"]],
    ["q", "ok"],
  );
  await world.end();
});

test("an owner that calls a tool that is not there is told so, and without an id it is refused (TOL-11)", async () => {
  const { world, tools, owner } = await cast();
  await world.join("toolsource", { name: "nothing-yet" });
  await owner.send({ event_type: "bb_tool_call_request", scope: "u", name: "read", input: {} });
  assert.match(String(owner.last("bb_error")["message"]), /needs an id/);
  await owner.send({ event_type: "bb_tool_call_request", id: "q", scope: "u", name: "none", input: {} });
  const { in_reply_to, status, error } = owner.last("bb_tool_call_result");
  assert.deepEqual([in_reply_to, status, (error as { code: string }).code], ["q", "error", "invalid_params"]);
  assert.deepEqual(tools.all("bb_tool_call_request"), []);
  await owner.send({ event_type: "bb_tool_call_request", id: "q2", scope: "u", name: "toolsource/read", input: {} });
  await tools.send(toolResult(tools.last("bb_tool_call_request"), "by its full name"));
  assert.equal(owner.last("bb_tool_call_result")["status"], "ok");
  await world.end();
});

test("a result may name its call by in_reply_to; a failure of few words still says why (TOL-5, ENV-10)", async () => {
  const { world, infer, tools, ui, owner } = await cast();
  const call = async (id: string, answer: (request: Event) => Event): Promise<Event> => {
    await owner.send({ event_type: "bb_tool_call_request", id, scope: "u", name: "read", input: {} });
    await tools.send(answer(tools.last("bb_tool_call_request")));
    return owner.last("bb_tool_call_result");
  };
  const named = await call("q1", ({ call_id }) => ({
    event_type: "bb_tool_call_result",
    in_reply_to: call_id,
    success: true,
  }));
  assert.deepEqual([named["in_reply_to"], named["status"], named["content"]], ["q1", "ok", []]);
  const failed = (more: object) => (request: Event) => ({
    event_type: "bb_tool_call_result",
    call_id: request["call_id"],
    success: false,
    ...more,
  });
  const mute = await call("q2", failed({}));
  assert.deepEqual(mute["content"], [{ type: "text", text: "The tool failed without a reason." }]);
  assert.match(String((mute["error"] as { message: string }).message), /without a reason/);
  const shown = await call("q3", failed({ content: [{ type: "image", mime_type: "image/png", data: "AAAA" }] }));
  assert.match(String((shown["error"] as { message: string }).message), /the call ended: error/);
  await asks(infer, ui, "read");
  await tools.send(
    failed({ error: { code: "internal", message: "no disk", retryable: false } })(tools.last("bb_tool_call_request")),
  );
  assert.match(JSON.stringify(infer.last("bb_infer_request")["messages"]), /no disk/);
  await infer.send(inferResult(infer.last("bb_infer_request")));
  await world.end();
});

test("progress that comes when its call has ended changes nothing and is no mistake (ENV-4, TOL-9)", async () => {
  const { world, infer, tools, ui } = await cast();
  await asks(infer, ui, "read");
  const { call_id } = tools.last("bb_tool_call_request");
  const progress = { event_type: "bb_tool_progress", call_id, fraction: 0.5 };
  await tools.send(progress, toolResult({ event_type: "bb_tool_call_request", call_id }, "x"), progress);
  assert.equal(ui.all("tool_progress").length, 1);
  assert.deepEqual(tools.all("bb_error"), []);
  await tools.send({ ...progress, call_id: "c_none" });
  assert.equal(tools.last("bb_error")["code"], "not_found");
  await infer.send(inferResult(infer.last("bb_infer_request")));
  await world.end();
});
