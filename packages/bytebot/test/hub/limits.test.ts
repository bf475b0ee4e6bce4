import assert from "node:assert/strict";
import { test } from "node:test";
import type { Event } from "../../src/wire/index.ts";
import { inferResult, message, register, toolChunks, World } from "./world.ts";

const nested = (depth: number): unknown => (depth === 0 ? "x" : [nested(depth - 1)]);

test("a conversation that no request can hold ends its turn with what to do, and the infer serves the others (FRM-5)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  for (let index = 0; index < 18; index++) {
    await ui.send(message("x".repeat(950_000), "big"));
    const request = infer.all("bb_infer_request").at(-1);
    if (request && ui.all("infer_chunk").length <= index) await infer.send(inferResult(request));
  }
  const { stop_reason, error } = ui.last("infer_chunk") as {
    stop_reason?: string;
    error?: { code: string; message: string };
  };
  assert.deepEqual([stop_reason, error?.code], ["error", "too_large"]);
  assert.match(error!.message, /the conversation is \d+\.\d MiB/);
  assert.equal(infer.closed, undefined);
  await ui.send(message("hello", "small"));
  assert.equal(infer.last("bb_infer_request")["scope"], "small");
  await infer.send(inferResult(infer.last("bb_infer_request")));
  await world.end();
});

test("content too deep for a transcript is refused on its way in, and the conversation goes on (FRM-6, hard case 5)", async () => {
  const world = new World();
  const context = await world.join("context");
  const infer = await world.join("infer");
  const tools = await world.join("toolsource");
  const ui = await world.join("ui");
  await tools.send(register("read"));
  const deep = { type: "text", text: "hi", extra: nested(50) };
  await ui.send({ ...message("x"), id: "m1", text: "x", content: [deep] });
  assert.equal(ui.last("bb_error")["code"], "too_large");
  const render = () =>
    context.send({
      event_type: "bb_context_render_result",
      in_reply_to: context.last("bb_context_render_request")["id"],
      success: true,
    });
  await ui.send(message("go"));
  await render();
  const request = infer.last("bb_infer_request");
  await infer.send(...toolChunks(request, "read", {}), inferResult(request, "tool_use"));
  await tools.send({
    event_type: "bb_tool_call_result",
    call_id: tools.last("bb_tool_call_request")["call_id"],
    success: true,
    content: [deep],
  });
  assert.match(JSON.stringify(ui.last("tool_result")["content"]), /the result is left out: nested deeper/);
  await render();
  await infer.send({ ...inferResult(infer.last("bb_infer_request")), content: [deep] });
  assert.equal((ui.last("infer_chunk")["error"] as { code: string }).code, "too_large");
  await ui.send(message("still there?"));
  await render();
  await infer.send(inferResult(infer.last("bb_infer_request")));
  assert.equal(ui.last("infer_chunk")["stop_reason"], "end_turn");
  await world.end();
});

test("whole blocks count against an answer's bound like deltas (CHK-1)", async () => {
  const world = new World({ limits: { answer: 1000 } });
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  await ui.send(message("go"));
  const request = infer.last("bb_infer_request");
  const stop = (index: number): Event => ({
    event_type: "infer_chunk",
    kind: "block_stop",
    index,
    in_reply_to: request["id"],
    block: { type: "text", text: "x".repeat(400) },
  });
  await infer.send(stop(0), stop(1), stop(2));
  assert.equal(infer.last("bb_error")["code"], "too_large");
  assert.equal(ui.all("infer_chunk").length, 2);
  await infer.send(inferResult(request));
  await world.end();
});

test("a page of history ends before it is too large to send, and says that there is more (RPL-5)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  for (let index = 0; index < 8; index++) {
    await ui.send(message("x".repeat(900_000), "u", { id: `m${index}` }));
    await infer.send(inferResult(infer.last("bb_infer_request")));
  }
  await ui.send({ event_type: "bb_history_request", id: "h", scope: "u" });
  const { events, more } = ui.last("bb_history_result") as { events?: Event[]; more?: boolean };
  assert.equal(more, true);
  assert.equal(events!.at(-1)!["kind"], "loop_done", "the newest are there");
  assert.ok(JSON.stringify(events).length < 2 * 1024 * 1024);
  await world.end();
});

test("a component that crashed and asks again gets the answer its turn had, and may ask its question anew (ENV-3)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const first = await world.join("context", { controller: true });
  const ui = await world.join("ui");
  world.hub.expectContext("context", undefined);
  const ask = { event_type: "bb_turn_request", id: "t1", scope: "u", content: "hello" };
  const question = { event_type: "bb_input_request", id: "k1", scope: "v", prompt: "?" };
  await first.send(ask, question);
  await first.link.close("crashed");
  await world.settle();
  assert.equal(ui.last("input_resolved")["outcome"], "cancelled");
  const back = await world.join("context", { controller: true });
  await back.send(question);
  assert.equal(ui.all("input_strict").length, 2);
  await ui.send({
    event_type: "input_reply",
    in_reply_to: ui.last("input_strict")["id"],
    outcome: "accepted",
    value: 1,
  });
  assert.equal(back.last("bb_input_result")["value"], 1);
  await back.send(ask);
  const pending = infer.all("bb_infer_request").at(-1);
  if (pending) await infer.send(inferResult(pending));
  assert.equal(back.all("bb_turn_result").length, 1);
  assert.equal(ui.all("user_event").length, 1, "it ran once");
  await world.end();
});

test("the answer to a running turn goes to the component that asked, on the connection it has by then (ENV-3)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const first = await world.join("ui", { name: "boss", controller: true });
  const ask = { event_type: "bb_turn_request", id: "t1", scope: "u", content: "hello" };
  await first.send(ask);
  await first.link.close("crashed");
  await world.settle();
  const other = await world.join("ui", { name: "other", controller: false });
  const back = await world.join("ui", { name: "boss", controller: true });
  await back.send(ask);
  assert.equal(infer.all("bb_infer_request").length, 1, "it runs once");
  await infer.send(inferResult(infer.last("bb_infer_request")));
  assert.equal(back.last("bb_turn_result")["in_reply_to"], "t1");
  assert.equal(other.all("bb_turn_result").length, 0);
  await world.end();
});
