import assert from "node:assert/strict";
import { test } from "node:test";
import type { Block, Message } from "bytebot/sdk";
import { request, said } from "../collected.ts";
import {
  answer,
  call,
  converse,
  formats,
  gemini,
  messages,
  responses,
  stop,
  think,
  whole,
  type Format,
} from "../formats/index.ts";
import { add, ask } from "./asking.ts";
import { plays, serving } from "./server.ts";

/** What no one would make up, and base64 has in it. */
const SIGNATURE = "EqQBCkgIBRABGAIiQL+/abcZz09+/==";
const signing: readonly Format[] = [responses, messages, gemini, converse];

/** A call after signed thinking, and the request that goes on from it. */
function goingOn(blocks: readonly Block[]) {
  const calls = blocks.filter(({ type }) => type === "tool_use");
  // As the Hub sends it on: with its own id of the call.
  const content = blocks.map((block) =>
    block.type === "tool_use" ? { ...block, id: "c_1", alias: block["id"] } : block,
  );
  const results = calls.map(() => ({
    type: "tool_result",
    tool_use_id: "c_1",
    content: [{ type: "text", text: "5" }],
  }));
  const messages = [said("2 + 3?"), { role: "assistant", content }, { role: "user", content: results }];
  return request({ messages: messages as Message[], tools: [add] });
}

for (const format of signing) {
  test(`${format.name}: signed thinking goes back byte for byte with its call (hard case 14)`, async (t) => {
    const steps = [think("Let me "), think("see.", SIGNATURE), call("add", "call_1", '{"a":2}'), stop("tool_use")];
    const server = await serving(t, plays(format, whole(format, ...steps)), plays(format, answer(format, "5")));
    const { reply, error } = await ask(format, server);
    assert.equal(error, undefined);
    const second = await ask(format, server, { request: goingOn(reply.blocks) });
    assert.equal(second.error, undefined);
    assert.deepEqual(signatures(server.heard[1]!.body), [SIGNATURE]);
    assert.deepEqual(
      format.toTurns(server.heard[1]!.body)[1]?.parts.map((part) => Object.keys(part)[0]),
      // Gemini's own thoughts stay behind; what they led to carries their signature.
      format === gemini ? ["call"] : ["thinking", "call"],
    );
  });

  test(`${format.name}: another model does not get it (hard case 14)`, async (t) => {
    const steps = [think("Let me see.", SIGNATURE), call("add", "call_1", '{"a":2}'), stop("tool_use")];
    const server = await serving(t, plays(format, whole(format, ...steps)));
    const { reply } = await ask(format, server);
    for (const other of formats) {
      if (other === format) continue;
      const elsewhere = await serving(t, plays(other, answer(other, "5")));
      const { error } = await ask(other, elsewhere, { request: goingOn(reply.blocks) });
      assert.equal(error, undefined, other.name);
      assert.deepEqual(signatures(elsewhere.heard[0]!.body), [], other.name);
    }
  });
}

test("Anthropic messages: thinking that was withheld goes back as it came (hard case 14)", async (t) => {
  const withheld = {
    type: "content_block_start",
    index: 0,
    content_block: { type: "redacted_thinking", data: SIGNATURE },
  };
  const frames = messages.events(call("add", "call_1", '{"a":2}'), stop("tool_use"));
  const text = Buffer.concat(frames).toString().replaceAll('"index":0', '"index":1');
  const [start, ping] = messages.events();
  const begun = Buffer.concat([start!, ping!]).toString();
  const event = (data: { type: string }) => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
  const body =
    begun +
    event(withheld) +
    event({ type: "content_block_stop", index: 0 } as { type: string }) +
    text.slice(begun.length);
  const server = await serving(
    t,
    plays(messages, [Buffer.from(body), messages.end]),
    plays(messages, answer(messages, "5")),
  );
  const { reply } = await ask(messages, server);
  await ask(messages, server, { request: goingOn(reply.blocks) });
  const sent = server.heard[1]!.body["messages"] as { content: unknown[] }[];
  assert.deepEqual(sent[1]?.content[0], { type: "redacted_thinking", data: SIGNATURE });
});

test("thinking without a signature is never sent back, whatever the format (hard case 14)", async (t) => {
  for (const format of formats) {
    const server = await serving(t, plays(format, answer(format, "5")));
    const blocks: Block[] = [
      { type: "thinking", thinking: "secret" },
      { type: "tool_use", name: "add", input: { a: 2 } },
    ];
    await ask(format, server, { request: goingOn(blocks) });
    assert.doesNotMatch(JSON.stringify(server.heard[0]!.body), /secret/, format.name);
  }
});

/** Whatever in a request's body holds the signature, or a part of it. */
function signatures(value: unknown): string[] {
  if (typeof value === "string") return value.includes(SIGNATURE.slice(4, 20)) ? [value] : [];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(signatures) : [];
}
