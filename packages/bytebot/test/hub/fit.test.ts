import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { weigh } from "../../src/hub/turn/fit.ts";
import { addAssistant, addUser } from "../../src/hub/turn/history.ts";
import type { Conversation } from "../../src/hub/state.ts";
import { BytebotError, strict, toOpenai, type Block, type Message } from "../../src/wire/index.ts";
import { anything, canonical } from "../wire/convert/shapes.ts";
import { inferResult, message, textChunks, World } from "./world.ts";

const conversationOf = (messages: Message[]): Conversation =>
  ({ messages, weight: undefined }) as unknown as Conversation;

const valuesIn = (value: unknown): number =>
  typeof value === "object" && value !== null
    ? Object.values(value).reduce<number>((sum, inner) => sum + valuesIn(inner), 1)
    : 1;

/** Small blocks, where what a shape puts around them counts most. */
const tiny: Message[] = [
  {
    role: "user",
    content: [
      {
        type: "tool_result",
        tool_use_id: "c",
        content: Array.from({ length: 50 }, () => ({ type: "image" as const, mime_type: "", data: "A" })),
        is_error: true,
      } as unknown as Block,
      { type: "blob", ref: `sha256-${"0".repeat(64)}`, mime_type: "", size: 0 },
    ],
  },
  {
    role: "assistant",
    content: Array.from({ length: 50 }, (): Block => ({
      type: "tool_use",
      id: "",
      name: "",
      input: { '"\\': '"\u0001' },
    })),
  },
];

test("in no shape does a transcript take more than three times what it weighs (FRM-6)", () => {
  const holds = (messages: Message[]): void => {
    const { bytes, values } = weigh(conversationOf(messages));
    const shapes: unknown[] = [messages, toOpenai({ messages }).messages];
    try {
      const sent = strict(messages, () => true);
      shapes.push(sent, toOpenai({ messages: sent }).messages);
    } catch (error) {
      assert.ok(error instanceof BytebotError); // a strict provider's rule is broken; that it weighs is all the same
    }
    for (const sent of shapes) {
      assert.ok(Buffer.byteLength(JSON.stringify(sent)) <= bytes * 3 + 10, JSON.stringify(sent));
      assert.ok(valuesIn(sent) <= values * 3 + 10, JSON.stringify(sent));
    }
  };
  holds(tiny);
  fc.assert(fc.property(fc.oneof(canonical, anything), holds), { numRuns: 500 });
});

test("a transcript weighs the same however often it was weighed as it grew (FRM-6)", () => {
  const step = fc.record({ user: fc.boolean(), texts: fc.array(fc.string({ minLength: 1 })), weighed: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const growing = conversationOf([]);
      for (const { user, texts, weighed } of steps) {
        const blocks = texts.map((text): Block => ({ type: "text", text }));
        if (user) addUser(growing.messages, blocks);
        else addAssistant(growing.messages, blocks);
        if (weighed) weigh(growing);
      }
      const { bytes } = weigh(growing);
      const whole = weigh(conversationOf(growing.messages)).bytes;
      // A message that was weighed in pieces counts what is around it each time.
      assert.ok(bytes >= whole && bytes <= whole + 42 * steps.length, `${bytes} of ${whole}`);
    }),
  );
});

test("a transcript that grows over the limit ends its turn with too_large, in either shape (FRM-6)", async () => {
  for (const capabilities of [{}, { api_shape: "openai" }]) {
    const world = new World();
    const infer = await world.join("infer", {}, { capabilities });
    const ui = await world.join("ui");
    const text = "\n".repeat(900_000) + "x";
    let turns = 0;
    for (; turns < 20; turns++) {
      await ui.send(message(text));
      const asked = infer.all("bb_infer_request");
      if (asked.length === turns) break;
      await infer.send(...textChunks(asked.at(-1)!, "ok"), inferResult(asked.at(-1)!));
    }
    // 1.8 MB each on the wire, and 16 MiB in all.
    assert.equal(turns, 9);
    assert.equal((ui.last("infer_chunk")["error"] as { code: string }).code, "too_large");
    await world.end();
  }
});
