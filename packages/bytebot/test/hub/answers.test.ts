import assert from "node:assert/strict";
import { test } from "node:test";
import { inferResult, message, register, textChunks, toolChunks, toolResult, World } from "./world.ts";

test("an answer to a question is acknowledged when it is logged, not before (LOG-1, QUE-3)", async () => {
  const world = new World();
  const context = await world.join("context");
  const ui = await world.join("ui");
  await context.send({ event_type: "bb_input_request", id: "k1", scope: "u", prompt: "Sure?" });
  await ui.send({
    event_type: "input_reply",
    id: "v1",
    in_reply_to: ui.last("input_strict")["id"],
    outcome: "accepted",
  });
  const order = ui.got.map(({ event_type }) => event_type);
  assert.ok(order.indexOf("input_resolved") < order.indexOf("bb_ack"), order.join());
  await context.send({ event_type: "bb_input_request", id: "k1", scope: "u", prompt: "Sure?" });
  assert.equal(ui.all("input_strict").length, 1, "the same question opens once (ENV-3)");
  assert.equal(context.all("bb_input_result").length, 2, "and gets its answer again");
  await world.end();
});

test("the same bb_turn_request runs one turn and gets one answer, as often as it asks; a refused one may come again (ENV-3, TRN-12)", async () => {
  const world = new World({ limits: { queue: 0 } });
  const infer = await world.join("infer");
  const owner = await world.join("ui", { owner: true }, { owner: true });
  const ask = { event_type: "bb_turn_request", id: "t1", scope: "u", content: "hello" };
  await owner.send(ask);
  await owner.send({ ...ask, id: "t2" });
  assert.equal(owner.last("bb_error")["code"], "overloaded");
  const request = infer.last("bb_infer_request");
  await infer.send(...textChunks(request, "hi"), inferResult(request));
  await owner.send(ask, { ...ask, id: "t2" });
  assert.equal(infer.all("bb_infer_request").length, 2);
  const answers = owner.all("bb_turn_result");
  assert.deepEqual(
    answers.map(({ in_reply_to, content }) => [in_reply_to, (content as { text: string }[])[0]!.text]),
    [
      ["t1", "hi"],
      ["t1", "hi"],
    ],
  );
  await infer.send(inferResult(infer.last("bb_infer_request")));
  assert.equal(owner.last("bb_turn_result")["in_reply_to"], "t2");
  await world.end();
});

test("what was seen of an interrupted answer is in the log, marked, and history shows it (INT-5)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  await ui.send(message("go"));
  await infer.send(...textChunks(infer.last("bb_infer_request"), "I will").slice(0, 2));
  await ui.send({ event_type: "interrupt", id: "x1", scope: "u" }, { event_type: "interrupt", id: "x1", scope: "u" });
  assert.equal(ui.all("interrupt").length, 1, "the same interrupt counts once (ENV-3)");
  assert.equal(ui.all("bb_ack").length, 2);
  await world.pass(1000);
  await ui.send({ event_type: "bb_history_request", id: "h1", scope: "u" });
  const events = ui.last("bb_history_result")["events"] as { kind?: string; block?: unknown }[];
  const block = events.find(({ kind }) => kind === "block_stop")?.block;
  assert.deepEqual(block, { type: "text", text: "I will", interrupted: true });
  await world.end();
});

test("the end of a call interrupts the child turns it asked for (TRN-12)", async () => {
  for (const how of ["timeout", "answer", "lost"]) {
    const world = new World({ limits: { toolMs: 5000 } });
    const infer = await world.join("infer");
    const tools = await world.join("toolsource");
    const ui = await world.join("ui");
    await tools.send(register("read"));
    await ui.send(message("go"));
    const request = infer.last("bb_infer_request");
    await infer.send(...toolChunks(request, "read", {}), inferResult(request, "tool_use"));
    const call = tools.last("bb_tool_call_request");
    const turn = { event_type: "bb_turn_request", id: "t1", call_id: call["call_id"], scope: "u/~a" };
    await tools.send({ ...turn, content: "work" });
    const child = infer.last("bb_infer_request");
    if (how === "timeout") await world.pass(5000);
    else if (how === "answer") await tools.send(toolResult(call, "did not wait"));
    else await tools.link.close("killed");
    await world.settle();
    assert.equal(infer.last("bb_cancel")["target"], child["id"], how);
    await world.pass(1000);
    const ends = ui.all("infer_chunk").filter(({ kind, scope }) => kind === "loop_done" && scope === "u/~a");
    assert.deepEqual(
      ends.map(({ stop_reason }) => stop_reason),
      ["interrupted"],
    );
    await infer.send(inferResult(infer.last("bb_infer_request")));
    await world.end();
  }
});

test("a result that names another scope than its call is refused; a failed one says why to programs too (ENV-5, ENV-10)", async () => {
  const world = new World({ policy: [{ tool: "write", decision: "deny" }] });
  const tools = await world.join("toolsource");
  const owner = await world.join("ui", { owner: true }, { owner: true });
  await tools.send(register("read", "write"));
  const call = async (name: string) => {
    await owner.send({ event_type: "bb_tool_call_request", id: `q_${name}`, name, input: {}, scope: "u" });
    return tools.all("bb_tool_call_request").at(-1);
  };
  const read = (await call("read"))!;
  await tools.send({ ...toolResult(read, "x"), scope: "v" });
  assert.equal(tools.last("bb_error")["code"], "invalid_event");
  assert.equal(owner.all("bb_tool_call_result").length, 0);
  const error = { code: "not_found", message: "no such file", retryable: false };
  await tools.send({ event_type: "bb_tool_call_result", call_id: read["call_id"], success: false, error });
  assert.deepEqual(owner.last("bb_tool_call_result")["error"], error);
  await call("write");
  const denied = owner.last("bb_tool_call_result")["error"] as { code: string; message: string };
  assert.equal(denied.code, "forbidden");
  assert.match(denied.message, /policy/);
  await world.end();
});

test("an infer that says success and interrupted or error has failed (TRN-10)", async () => {
  for (const stop_reason of ["interrupted", "error"]) {
    const world = new World();
    const infer = await world.join("infer");
    const ui = await world.join("ui");
    await ui.send(message("go"));
    await infer.send(inferResult(infer.last("bb_infer_request"), stop_reason));
    const { stop_reason: said, error } = ui.last("infer_chunk") as { stop_reason?: string; error?: { code: string } };
    assert.deepEqual([said, error?.code], ["error", "invalid_event"]);
    await world.end();
  }
});

test("a UI that does not ask for questions cannot answer them, and is shown none on joining (QUE-2, RPL-1)", async () => {
  const world = new World();
  const context = await world.join("context");
  const narrow = await world.join("ui", { name: "narrow" }, { types: ["infer_chunk"] });
  const ask = { event_type: "bb_input_request", scope: "u", prompt: "?" };
  await context.send({ ...ask, id: "k1" });
  assert.equal(context.last("bb_input_result")["outcome"], "expired");
  const ui = await world.join("ui");
  await context.send({ ...ask, id: "k2" });
  const late = await world.join("ui", { name: "late" }, { types: ["infer_chunk"] });
  assert.deepEqual(
    [...narrow.got, ...late.got].map(({ event_type }) => event_type),
    ["bb_sync_ack", "bb_live", "bb_sync_ack", "bb_live"],
  );
  await ui.send({ event_type: "input_reply", in_reply_to: ui.last("input_strict")["id"], outcome: "declined" });
  await world.end();
});

test("an answer that comes too late and names another scope is refused; in its own, only who may see that scope is shown a copy (ENV-4, ENV-5)", async () => {
  const world = new World();
  const context = await world.join("context");
  const all = await world.join("telemetry", { name: "all", content: true });
  const other = await world.join("telemetry", { name: "other", scopes: ["v"], content: true });
  const ui = await world.join("ui");
  await ui.send(message("go"), { event_type: "interrupt", scope: "u" });
  const late = { event_type: "bb_context_render_result", in_reply_to: context.last("bb_context_render_request")["id"] };
  await context.send({ ...late, success: true, system: "of u", scope: "v" });
  assert.equal(context.last("bb_error")["code"], "invalid_event");
  await context.send({ ...late, success: true, system: "of u" });
  assert.equal(all.last("bb_context_render_result")["scope"], "u");
  assert.deepEqual(other.all("bb_context_render_result"), []);
  await world.end();
});
