import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isQuick } from "../../src/wire/quick.ts";
import { schemas, type Event } from "../../src/wire/index.ts";

const odd = fc.oneof(
  fc.anything({ maxDepth: 2 }),
  fc.constantFrom("", "a", "é", 0, -1, 1.5, 2 ** 53, null, [], {}, true),
);
const or = <T>(usual: fc.Arbitrary<T>) => fc.oneof({ weight: 12, arbitrary: usual as fc.Arbitrary<unknown> }, odd);
const id = or(fc.constantFrom("i_1", "x".repeat(128), "x".repeat(129), "a b"));
const text = or(fc.string());
const count = or(fc.constantFrom(0, 7, 4095, 4096));
const part = (fields: Record<string, fc.Arbitrary<unknown>>) => or(fc.record(fields, { requiredKeys: ["type"] }));
const block = fc.oneof(
  part({
    type: fc.constantFrom("text", "thinking", "tool_use", "image", "blob"),
    text,
    thinking: text,
    name: text,
    input: odd,
  }),
  part({ type: fc.constant("thinking"), thinking: text, signature: text }),
  part({ type: fc.constant("tool_use"), id: text, name: text, input: odd, alias: text }),
);
const error = or(
  fc.record({ code: text, message: text, retryable: or(fc.boolean()), retry_after_ms: count }, { requiredKeys: [] }),
);
const own = {
  event_type: fc.constantFrom(
    "bb_tool_call_request",
    "bb_tool_call_result",
    "user_event",
    "bb_infer_result",
    "infer_chunk",
    "bb_ack",
  ),
  kind: fc.constantFrom("block_start", "block_stop"),
  ...{ id, in_reply_to: id, call_id: id, loop_id: id, scope: or(fc.constantFrom("u", "u/c", ".", "a/~b", "a//b")) },
  ...{ seq: count, cursor: text, ts: count, from: text, observed: or(fc.boolean()), _meta: odd },
  ...{ name: text, input: odd, deadline_ts: count, success: or(fc.boolean()), synthetic: or(fc.boolean()) },
  ...{ status: or(fc.constantFrom("ok", "lost")), content: or(fc.array(block, { maxLength: 2 })), error, text },
  ...{ type: or(fc.constant("message")), mode: or(fc.constant("steer")), stop_reason: or(fc.constant("end_turn")) },
  ...{ usage: or(fc.record({ input_tokens: count, more: odd })), block, index: count, merged: count, name_2: odd },
  ...{ fate: or(fc.constantFrom("started", "returned", "ok")) },
  ...{ block_type: or(fc.constant("text")), round: count, attempt: count, n: count },
};

test("an event that is found valid by hand is valid by its schema (ENV-7)", () => {
  let quick = 0;
  const keys = Object.keys(own);
  const some = fc.subarray(keys.slice(1), { maxLength: 9 });
  const event = fc.tuple(fc.record(own), some).map(([all, kept]): Event => {
    const needed = [
      "event_type",
      "kind",
      "index",
      "block_type",
      "success",
      "name",
      "input",
      "scope",
      "type",
      "in_reply_to",
    ];
    return Object.fromEntries(
      Object.entries(all).filter(([key]) => needed.includes(key) || kept.includes(key)),
    ) as Event;
  });
  fc.assert(
    fc.property(event, (sent) => {
      if (!isQuick(sent)) return;
      quick++;
      const result = schemas[sent.event_type as keyof typeof schemas].safeParse(sent);
      assert.ok(result.success, JSON.stringify(result.error?.issues));
    }),
    { numRuns: 4000 },
  );
  assert.ok(quick > 200, `${quick} were found valid by hand`);
});

test("what a turn and a call are made of is found valid by hand", () => {
  const chunk = { event_type: "infer_chunk", in_reply_to: "i_1", index: 0 };
  const events: Event[] = [
    { event_type: "bb_tool_call_request", id: "x_1", name: "echo", input: {}, scope: "u" },
    {
      event_type: "bb_tool_call_result",
      call_id: "c_1",
      success: true,
      status: "ok",
      content: [{ type: "text", text: "" }],
    },
    { event_type: "user_event", id: "m_1", type: "message", scope: "u/c_2", text: "go" },
    {
      event_type: "bb_infer_result",
      in_reply_to: "i_1",
      success: true,
      stop_reason: "end_turn",
      usage: { input_tokens: 1 },
    },
    { event_type: "bb_ack", in_reply_to: "m_1", fate: "queued", seq: 256, ts: 1_764_000_000_000 },
    { event_type: "bb_ack" },
    { ...chunk, kind: "block_start", block_type: "text" },
    { ...chunk, kind: "block_stop", block: { type: "thinking", thinking: "", signature: "s" } },
  ];
  assert.deepEqual(
    events.filter((event) => !isQuick(event)),
    [],
  );
});
