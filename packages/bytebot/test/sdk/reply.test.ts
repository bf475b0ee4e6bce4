import assert from "node:assert/strict";
import { test } from "node:test";
import type * as bb from "../../src/sdk/index.ts";
import { Reply } from "../../src/sdk/reply.ts";
import { validate } from "../../src/wire/index.ts";
import { synced } from "./peer.ts";

/** The chunks of one request as the peer gets them, without what is the same in each, and the result. */
async function replied(write: (reply: bb.InferReply) => void): Promise<{ chunks: object[]; result: bb.Event }> {
  await using running = await synced({ kind: "infer" }, (satellite) => {
    satellite.onInfer(async (_request, reply) => {
      write(reply);
      return { stop_reason: "end_turn", usage: { input_tokens: 1, output_tokens: undefined } };
    });
  });
  const { peer } = running;
  const request = {
    event_type: "bb_infer_request",
    id: "f1",
    loop_id: "l_1",
    scope: "u_1",
    stream: true,
    round: 0,
    attempt: 0,
    messages: [],
  };
  peer.send(request);
  const result = await peer.next("bb_infer_result");
  assert.deepEqual(peer.faults, []);
  const chunks = peer.events.filter((event) => event.event_type === "infer_chunk");
  for (const event of [...chunks, result]) validate(event);
  return {
    chunks: chunks.map(({ event_type, in_reply_to, ...fields }) => {
      assert.deepEqual([event_type, in_reply_to], ["infer_chunk", "f1"]);
      return fields;
    }),
    result,
  };
}

const start = (index: number, block_type: string) => ({ kind: "block_start", index, block_type });
const delta = (index: number, block_type: string, text: string) => ({
  kind: "block_delta",
  index,
  block_type,
  delta: text,
});
const stop = (index: number, block: object) => ({ kind: "block_stop", index, block });

test("blocks are opened and closed as the text changes its kind, and the result follows the last of them", async () => {
  const { chunks, result } = await replied((reply) => {
    reply.thinking("hm");
    reply.thinking("");
    reply.signature("c2ln+/=");
    reply.text("Yes");
    reply.text(".");
    reply.text("");
  });
  assert.deepEqual(chunks, [
    start(0, "thinking"),
    delta(0, "thinking", "hm"),
    stop(0, { type: "thinking", thinking: "hm", signature: "c2ln+/=" }),
    start(1, "text"),
    delta(1, "text", "Yes"),
    delta(1, "text", "."),
    stop(1, { type: "text", text: "Yes." }),
  ]);
  assert.deepEqual(result, {
    event_type: "bb_infer_result",
    in_reply_to: "f1",
    loop_id: "l_1",
    success: true,
    stop_reason: "end_turn",
    usage: { input_tokens: 1 },
  });
});

test("tool calls may stream side by side; what is not ended is ended with the reply", async () => {
  const { chunks } = await replied((reply) => {
    reply.text("I look.");
    const one = reply.toolUse({ id: "call_1", name: "time" });
    const two = reply.toolUse({ name: "list" });
    one.delta('{"zone":');
    two.delta('{"path":"."}');
    one.delta('"UTC"}');
    one.end();
  });
  assert.deepEqual(chunks.slice(2), [
    stop(0, { type: "text", text: "I look." }),
    { ...start(1, "tool_use"), name: "time" },
    { ...start(2, "tool_use"), name: "list" },
    delta(1, "tool_use", '{"zone":'),
    delta(2, "tool_use", '{"path":"."}'),
    delta(1, "tool_use", '"UTC"}'),
    stop(1, { type: "tool_use", id: "call_1", name: "time", input: { zone: "UTC" } }),
    stop(2, { type: "tool_use", name: "list", input: { path: "." } }),
  ]);
});

test("blank arguments are an empty object, and what is no object is shown as it was, never run", async () => {
  const inputs: [string, object][] = [
    ["", { input: {} }],
    ["  \n", { input: {} }],
    ["null", { input: {} }],
    ['{"path": "/et', { input: null, malformed: '{"path": "/et' }],
    ["[1]", { input: null, malformed: "[1]" }],
    ['{"__proto__": {"admin": true}}', { input: null, malformed: '{"__proto__": {"admin": true}}' }],
    ['{"n": 9007199254740993}', { input: null, malformed: '{"n": 9007199254740993}' }],
    [`{"text": "${"x".repeat(3000)}`, { input: null, malformed: `{"text": "${"x".repeat(1990)}` }],
    ["[".repeat(100), { input: null, malformed: "[".repeat(100) }],
  ];
  const { chunks } = await replied((reply) => {
    for (const [json] of inputs) {
      const call = reply.toolUse({ name: "t" });
      call.delta(json);
      call.end();
    }
  });
  const blocks = chunks.flatMap((chunk) => ("block" in chunk ? [chunk.block] : []));
  assert.deepEqual(
    blocks,
    inputs.map(([, input]) => ({ type: "tool_use", name: "t", ...input })),
  );
});

test("half a character within a delta, or without its other half in the next, is replaced before it leaves (FRM-8)", () => {
  const deltas: unknown[] = [];
  const limits = { line_bytes: 1024 * 1024, values: 10_000, depth: 64 };
  // As it is written, before a reader replaces what is left.
  const post = (event: bb.Event) => void deltas.push(event["delta"]);
  const reply = new Reply("f1", { limits, send: () => undefined, post });
  reply.text("a\ud800b");
  reply.text("\udc00\ud83d");
  reply.text("x");
  reply.toolUse({ name: "add" }).delta('{"a":"\ud83dx"}');
  assert.deepEqual(deltas, ["a\ufffdb", "\ufffd", "\ufffdx", '{"a":"\ufffdx"}']);
});

test("a character cut in two by the deltas arrives whole, and half a one at the end is replaced", async () => {
  const { chunks } = await replied((reply) => {
    reply.text("a\ud83d");
    reply.text("\ude00b");
    reply.text("\ud83d");
  });
  assert.deepEqual(chunks, [
    start(0, "text"),
    delta(0, "text", "a"),
    delta(0, "text", "😀b"),
    delta(0, "text", "\ufffd"),
    stop(0, { type: "text", text: "a😀b\ufffd" }),
  ]);
});

test("whole blocks stream as one delta, those without text only stop", async () => {
  const image = { type: "image" as const, mime_type: "image/png", data: "AA==" };
  const { chunks } = await replied((reply) => {
    reply.text("first");
    reply.block({ type: "tool_use", id: "c1", name: "t", input: { a: 1 } });
    reply.block(image);
    reply.block({ type: "text", text: "" });
  });
  assert.deepEqual(chunks.slice(3), [
    { ...start(1, "tool_use"), name: "t" },
    delta(1, "tool_use", '{"a":1}'),
    stop(1, { type: "tool_use", id: "c1", name: "t", input: { a: 1 } }),
    stop(2, image),
    start(3, "text"),
    stop(3, { type: "text", text: "" }),
  ]);
});

test("arguments after the end of their call are an error, not a second call", async () => {
  await replied((reply) => {
    const call = reply.toolUse({ name: "t" });
    call.end();
    call.end();
    assert.throws(() => call.delta("{}"), /came after its end\(\)/);
  });
});
