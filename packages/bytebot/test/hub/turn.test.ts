import assert from "node:assert/strict";
import { test } from "node:test";
import { inferFailure, inferResult, message, register, textChunks, toolChunks, toolResult, World } from "./world.ts";

test("a turn is logged, acknowledged, streamed and ended once (TRN-1, TRN-9, INP-2, CHK-2)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  await ui.send(message("hello", "u", { id: "m1" }));
  assert.equal(ui.last("bb_ack")["fate"], "started");
  assert.equal(ui.last("user_event")["seq"], ui.last("bb_ack")["seq"]);
  const request = infer.last("bb_infer_request");
  assert.deepEqual(request["messages"], [{ role: "user", content: [{ type: "text", text: "hello" }] }]);
  await infer.send(...textChunks(request, "hi there"), inferResult(request));
  assert.equal(ui.text(), "hi there");
  const chunks = ui.all("infer_chunk");
  assert.deepEqual(
    chunks.slice(0, 3).map(({ n }) => n),
    [0, 1, 2],
  );
  assert.equal(chunks.at(-1)?.["kind"], "loop_done");
  assert.equal(chunks.at(-1)?.["stop_reason"], "end_turn");
  assert.equal(ui.last("scope_state")["state"], "idle");
  const durable = ui.got.filter(({ seq }) => typeof seq === "number" && seq > 0);
  assert.ok(durable.every((event, index) => index === 0 || Number(event["seq"]) >= Number(durable[index - 1]!["seq"])));
  await world.end();
});

test("the context renders every round, and what it leaves out is the Hub's default (TRN-2)", async () => {
  const world = new World();
  const context = await world.join("context");
  const infer = await world.join("infer", {}, { capabilities: { api_shape: "anthropic" } });
  const tools = await world.join("toolsource");
  const ui = await world.join("ui");
  await tools.send(register("read", "write"));
  await ui.send(message("go"));
  const first = context.last("bb_context_render_request");
  assert.deepEqual(
    (first["tools"] as { name: string }[]).map(({ name }) => name),
    ["read", "write"],
  );
  assert.deepEqual(first["infer"], { name: "infer", capabilities: { api_shape: "anthropic" } });
  await context.send({
    event_type: "bb_context_render_result",
    in_reply_to: first["id"],
    success: true,
    system: "be brief",
    tools: ["read"],
    model: "m",
    params: { max_tokens: 9 },
  });
  const asked = infer.last("bb_infer_request");
  assert.equal(asked["system"], "be brief");
  assert.equal(asked["model"], "m");
  assert.deepEqual(
    (asked["tools"] as { name: string }[]).map(({ name }) => name),
    ["read"],
  );
  await infer.send(...toolChunks(asked, "read", { path: "a" }), inferResult(asked, "tool_use"));
  await tools.send(toolResult(tools.last("bb_tool_call_request"), "content of a"));
  const second = context.last("bb_context_render_request");
  assert.equal(second["loop_id"], first["loop_id"]);
  assert.equal(second["round"], 1);
  assert.equal((second["history"] as unknown[]).length, 3);
  await context.send({ event_type: "bb_context_render_result", in_reply_to: second["id"], success: true });
  await infer.send(...textChunks(infer.last("bb_infer_request"), "done"), inferResult(infer.last("bb_infer_request")));
  assert.equal(ui.text(), "done");
  await world.end();
});

test("a context that fails, stays silent or is gone ends the turn, and never falls back by itself (TRN-3)", async () => {
  const world = new World({ limits: { renderMs: 5000 } });
  world.hub.expectContext("context", ["*"]);
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  await ui.send(message("no context yet"));
  assert.equal((ui.last("infer_chunk")["error"] as { code: string }).code, "unavailable");
  const context = await world.join("context");
  await ui.send(message("it fails"));
  const request = context.last("bb_context_render_request");
  const error = { code: "budget_exceeded", message: "too long a prompt", retryable: false };
  await context.send({ event_type: "bb_context_render_result", in_reply_to: request["id"], success: false, error });
  assert.deepEqual(ui.last("infer_chunk")["error"], error);
  await ui.send(message("it is silent"));
  await world.pass(5000);
  assert.equal((ui.last("infer_chunk")["error"] as { code: string }).code, "unavailable");
  assert.equal(context.last("bb_cancel")["target"], context.last("bb_context_render_request")["id"]);
  await ui.send(message("it dies"));
  await context.link.close("killed");
  await world.settle();
  assert.match((ui.last("infer_chunk")["error"] as { message: string }).message, /context is gone: killed/);
  assert.equal(infer.all("bb_infer_request").length, 0);
  assert.equal(ui.last("scope_state")["state"], "idle");
  await world.end();
});

test("where the app allows it, a missing context gives way to the plain transcript (TRN-3)", async () => {
  const world = new World({ contextFallback: true });
  world.hub.expectContext("context", ["*"]);
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  await ui.send(message("hello"));
  await infer.send(inferResult(infer.last("bb_infer_request")));
  assert.equal(ui.last("infer_chunk")["stop_reason"], "end_turn");
  await world.end();
});

test("the blocks folded from the chunks win over the result's content, which serves where nothing was streamed (TRN-4)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  await ui.send(message("one"));
  const one = infer.last("bb_infer_request");
  await infer.send(...textChunks(one, "streamed"), { ...inferResult(one), content: [{ type: "text", text: "other" }] });
  await ui.send(message("two"));
  const two = infer.last("bb_infer_request");
  assert.deepEqual((two["messages"] as unknown[])[1], {
    role: "assistant",
    content: [{ type: "text", text: "streamed" }],
  });
  await infer.send({ ...inferResult(two), content: [{ type: "text", text: "whole" }] });
  const block = ui.all("infer_chunk").findLast(({ kind }) => kind === "block_stop");
  assert.deepEqual(block?.["block"], { type: "text", text: "whole" });
  await world.end();
});

test("parallel calls run at once, and their results reach the model in call order (TRN-5)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const tools = await world.join("toolsource");
  const ui = await world.join("ui");
  await tools.send(register("read"));
  await ui.send(message("read both"));
  const request = infer.last("bb_infer_request");
  await infer.send(
    ...toolChunks(request, "read", { path: "a" }, 0),
    ...toolChunks(request, "read", { path: "b" }, 1),
    inferResult(request, "tool_use"),
  );
  const [a, b] = tools.all("bb_tool_call_request");
  assert.ok(a && b);
  assert.notEqual(a["call_id"], b["call_id"]);
  await tools.send(toolResult(b, "second"));
  assert.equal(infer.all("bb_infer_request").length, 1, "the round waits for both");
  await tools.send(toolResult(a, "first"));
  const results = (infer.last("bb_infer_request")["messages"] as { content: { tool_use_id: string }[] }[])[2]!.content;
  assert.deepEqual(
    results.map(({ tool_use_id }) => tool_use_id),
    [a["call_id"], b["call_id"]],
  );
  await infer.send(inferResult(infer.last("bb_infer_request")));
  await world.end();
});

test("what UIs see never executes anything, whoever sends it (TRN-6)", async () => {
  const world = new World();
  const tools = await world.join("toolsource");
  const ui = await world.join("ui");
  await tools.send(register("read"));
  const shown = { scope: "u", call_id: "c_9", name: "read", input: {} };
  for (const event_type of [
    "tool_call",
    "tool_progress",
    "tool_result",
    "infer_chunk",
    "scope_state",
    "input_strict",
  ]) {
    await ui.send({ event_type, id: "q", kind: "loop_done", ...shown });
    assert.ok(["not_authority", "forbidden"].includes(String(ui.last("bb_error")["code"])), event_type);
  }
  assert.equal(tools.all("bb_tool_call_request").length, 0);
  await world.end();
});

test("a retryable failure repeats the round with the next attempt, and the text is said once (TRN-7, CHK-3)", async () => {
  const world = new World({ limits: { retryMs: 100 } });
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  await ui.send(message("hello"));
  const first = infer.last("bb_infer_request");
  await infer.send(
    ...textChunks(first, "half an ans").slice(0, 2),
    inferFailure(first, { code: "unavailable", retryable: true }),
  );
  await world.pass(100);
  const second = infer.last("bb_infer_request");
  assert.equal(second["attempt"], 1);
  assert.deepEqual(second["messages"], first["messages"]);
  await infer.send(...textChunks(second, "an answer"), inferResult(second));
  const chunks = ui.all("infer_chunk").filter(({ attempt }) => attempt === 1);
  assert.deepEqual(
    chunks.slice(0, 3).map(({ n }) => n),
    [0, 1, 2],
    "n starts anew",
  );
  await ui.send(message("again"));
  const messages = infer.last("bb_infer_request")["messages"] as { content: unknown[] }[];
  assert.deepEqual(messages[1]!.content, [{ type: "text", text: "an answer" }]);
  await infer.send(inferResult(infer.last("bb_infer_request")));
  await world.end();
});

test("a failure that is not retryable, or comes too often, or asks for too long a wait ends the loop with its reason (TRN-7)", async () => {
  const world = new World({ limits: { attempts: 2, retryMs: 100 } });
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  const failAs = async (error: Record<string, unknown>) =>
    infer.send(inferFailure(infer.last("bb_infer_request"), error));
  await ui.send(message("one"));
  await failAs({ code: "unauthorized", message: "no key" });
  assert.deepEqual(ui.last("infer_chunk")["error"], { code: "unauthorized", message: "no key", retryable: false });
  await ui.send(message("two"));
  await failAs({ code: "overloaded", retryable: true, retry_after_ms: 5 * 3600_000 });
  assert.equal((ui.last("infer_chunk")["error"] as { code: string }).code, "overloaded");
  await ui.send(message("three"));
  await failAs({ code: "unavailable", retryable: true });
  await world.pass(100);
  await failAs({ code: "unavailable", retryable: true });
  assert.equal(ui.last("infer_chunk")["stop_reason"], "error");
  assert.equal(infer.all("bb_infer_request").length, 4);
  await world.end();
});

test("the loop guard ends fifty calls, and five equal ones in a row, with the reason (TRN-8, hard case 40)", async () => {
  for (const [limits, inputs] of [
    [{ callsPerLoop: 3 }, ["a", "b", "c", "d"]],
    [{ sameCalls: 2 }, ["a", "a", "a"]],
  ] as const) {
    const world = new World({ limits });
    const infer = await world.join("infer");
    const tools = await world.join("toolsource");
    const ui = await world.join("ui");
    await tools.send(register("read"));
    await ui.send(message("loop"));
    for (const path of inputs) {
      const request = infer.last("bb_infer_request");
      await infer.send(...toolChunks(request, "read", { path }), inferResult(request, "tool_use"));
      const call = tools.all("bb_tool_call_request").at(-1);
      if (call && !ui.all("tool_result").some(({ call_id }) => call_id === call["call_id"]))
        await tools.send(toolResult(call, "x"));
    }
    assert.equal((ui.last("infer_chunk")["error"] as { code: string }).code, "loop_limit");
    assert.equal(tools.all("bb_tool_call_request").length, inputs.length - 1);
    assert.equal(ui.last("scope_state")["state"], "idle");
    await world.end();
  }
});

test("conversations of one cell and of many run side by side, each its own loop (TRN-1)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  const scopes = ["u", "u/a", "u/~child", "v"];
  for (const scope of scopes) await ui.send(message(`hi ${scope}`, scope));
  const requests = infer.all("bb_infer_request");
  assert.deepEqual(
    requests.map(({ scope }) => scope),
    scopes,
  );
  for (const request of requests.toReversed())
    await infer.send(...textChunks(request, `to ${String(request["scope"])}`), inferResult(request));
  for (const scope of scopes) {
    const said = ui.all("infer_chunk").filter((chunk) => chunk["scope"] === scope && chunk["kind"] === "block_delta");
    assert.deepEqual(
      said.map(({ delta }) => delta),
      [`to ${scope}`],
    );
  }
  await world.end();
});

test("without an infer the turn ends with what to do about it (TRN-11)", async () => {
  const world = new World();
  const ui = await world.join("ui");
  await ui.send(message("hello"));
  assert.match((ui.last("infer_chunk")["error"] as { message: string }).message, /attach one/);
  await world.end();
});

test("an infer that goes silent for good times out, and its late answer changes nothing (TRN-11, ENV-4, hard case 16)", async () => {
  const world = new World({ limits: { inferIdleMs: 90_000 } });
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  await ui.send(message("hello"));
  const request = infer.last("bb_infer_request");
  await infer.send(...textChunks(request, "so far").slice(0, 2));
  await world.pass(60_000);
  assert.equal(ui.last("infer_chunk")["kind"], "block_delta", "a gap of a minute is no end");
  await infer.send({
    event_type: "infer_chunk",
    kind: "block_delta",
    index: 0,
    block_type: "text",
    delta: " and on",
    in_reply_to: request["id"],
  });
  await world.pass(89_000);
  assert.equal(ui.last("infer_chunk")["kind"], "block_delta");
  await world.pass(1000);
  assert.equal((ui.last("infer_chunk")["error"] as { code: string }).code, "timeout");
  assert.equal(infer.last("bb_cancel")["target"], request["id"]);
  const shown = ui.got.length;
  await infer.send(...textChunks(request, "late", 1), inferResult(request));
  assert.equal(ui.got.length, shown);
  assert.deepEqual(infer.all("bb_error"), []);
  await world.end();
});

test("deltas after the end, without a start or of another block type are refused and break nothing (CHK-1, hard case 16)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  await ui.send(message("hello"));
  const request = infer.last("bb_infer_request");
  const delta = { event_type: "infer_chunk", kind: "block_delta", in_reply_to: request["id"], delta: "x" };
  await infer.send({ ...delta, index: 3, block_type: "tool_use" });
  await infer.send(
    ...textChunks(request, "good"),
    { ...delta, index: 0, block_type: "text" },
    { ...delta, index: 1, block_type: "text" },
  );
  await infer.send({ ...delta, index: 1, block_type: "thinking" });
  assert.equal(infer.all("bb_error").length, 3);
  await infer.send(inferResult(request));
  await infer.send({ ...delta, index: 1, block_type: "text" });
  assert.equal(ui.text(), "goodx");
  assert.equal(ui.last("infer_chunk")["stop_reason"], "end_turn");
  await world.end();
});

test("an answer is bounded: what is beyond is refused, and the turn can still end (CHK-1)", async () => {
  const world = new World({ limits: { answer: 10 } });
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  await ui.send(message("hello"));
  const request = infer.last("bb_infer_request");
  const delta = { event_type: "infer_chunk", kind: "block_delta", block_type: "text", in_reply_to: request["id"] };
  await infer.send({ ...delta, index: 0, delta: "12345678" }, { ...delta, index: 0, delta: "9012" });
  assert.equal(infer.last("bb_error")["code"], "too_large");
  for (let n = 0; n < 2000; n++) infer.link.send({ ...delta, index: 0, delta: "and on and on" });
  await infer.send({ event_type: "infer_chunk", kind: "block_stop", index: 0, in_reply_to: request["id"] });
  assert.equal(infer.all("bb_error").length, 1, "told once, and not closed for what was on its way (QTA-5)");
  await infer.send({ ...delta, index: 4096, delta: "x" });
  assert.equal(infer.last("bb_error")["code"], "invalid_event");
  await infer.send(inferResult(request));
  assert.equal(ui.text(), "12345678");
  assert.equal(ui.last("infer_chunk")["stop_reason"], "end_turn");
  await world.end();
});
