import assert from "node:assert/strict";
import { test } from "node:test";
import { schemaCheck } from "../../src/hub/tools/schema.ts";
import { BytebotError, type Event } from "../../src/wire/index.ts";
import { inferResult, message, register, toolChunks, World, type Peer } from "./world.ts";

const ending = (ui: Peer): unknown[] => {
  const { stop_reason, error } = ui.last("infer_chunk");
  return [stop_reason, (error as { code: string } | undefined)?.code];
};

test("an infer that says no more than success has ended its turn; one that says no more than failure has failed (TRN-9, TRN-10)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  const result = (success: boolean): Event => ({
    event_type: "bb_infer_result",
    in_reply_to: infer.last("bb_infer_request")["id"],
    success,
  });
  await ui.send(message("one"));
  await infer.send(result(true));
  assert.deepEqual(ending(ui), ["end_turn", undefined]);
  await ui.send(message("two"));
  await infer.send(result(false));
  assert.deepEqual(ending(ui), ["error", "internal"]);
  assert.match(JSON.stringify(ui.last("infer_chunk")["error"]), /without a reason/);
  await world.end();
});

test("a context that fails without a reason, or names a tool that is not there, ends the turn with what was wrong (TRN-2, TRN-3)", async () => {
  const world = new World();
  world.hub.expectContext("context", ["*"]);
  await world.join("infer");
  const context = await world.join("context");
  const ui = await world.join("ui");
  const answer = async (fields: object): Promise<void> => {
    await ui.send(message("hi"));
    const in_reply_to = context.last("bb_context_render_request")["id"];
    await context.send({ event_type: "bb_context_render_result", in_reply_to, ...fields } as Event);
  };
  await answer({ success: false });
  assert.deepEqual(ending(ui), ["error", "internal"]);
  await answer({
    success: true,
    messages: [{ role: "user", content: [{ type: "text", text: "hi" }] }],
    tools: ["none"],
  });
  assert.deepEqual(ending(ui), ["error", "invalid_params"]);
  assert.match(JSON.stringify(ui.last("infer_chunk")["error"]), /names the tool \\"none\\"/);
  await world.end();
});

test("a tool that says it was cancelled has the status cancelled, and telemetry without content sees the code alone (TOL-5, KND-4)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const tools = await world.join("toolsource");
  const ui = await world.join("ui");
  const logs = await world.join("telemetry");
  await tools.send(register("read"));
  await ui.send(message("go"));
  const request = infer.last("bb_infer_request");
  await infer.send(...toolChunks(request, "read", {}), inferResult(request, "tool_use"));
  const { call_id } = tools.last("bb_tool_call_request");
  const error = { code: "cancelled", message: "a secret of the tool's", retryable: false };
  await tools.send({ event_type: "bb_tool_call_result", call_id, success: false, error });
  assert.equal(ui.last("tool_result")["status"], "cancelled");
  assert.deepEqual(logs.last("bb_tool_call_result")["error"], { code: "cancelled", retryable: false });
  assert.doesNotMatch(JSON.stringify(logs.got), /a secret/);
  await infer.send(inferResult(infer.last("bb_infer_request")));
  await world.end();
});

test("a check by a schema says what does not fit, and which schema is of no use (TOL-7)", () => {
  const check = schemaCheck({ type: "object", properties: { a: { type: "string", pattern: "^a" } } }, 'tool "t"');
  assert.equal(check({ a: "ab" }), undefined);
  assert.match(check({ a: 1 })!, /^input\/a: /);
  assert.throws(
    () => schemaCheck({ properties: { a: { pattern: "(" } } }, 'tool "t"'),
    (error) => error instanceof BytebotError && /the schema of tool "t" is not usable/.test(error.message),
  );
  const endless = schemaCheck({ properties: { a: { $ref: "#/properties/a" } } }, 'tool "t"');
  assert.match(endless({ a: 1 })!, /stack/);
});
