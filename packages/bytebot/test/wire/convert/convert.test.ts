import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  BytebotError,
  OpenaiMessage,
  toAnthropic,
  toOpenai,
  type Block,
  type Message,
  type ModelTool,
  type ToolChoice,
} from "../../../src/wire/index.ts";
import { canonical, openai } from "./shapes.ts";

const user = (...content: Block[]): Message => ({ role: "user", content });
const assistant = (...content: Block[]): Message => ({ role: "assistant", content });
const text = (value: string): Block => ({ type: "text", text: value });

test("what both shapes can say is the same after the way to openai and back (CNV-3)", () => {
  fc.assert(
    fc.property(canonical, fc.option(fc.string({ minLength: 1 })), (messages, said) => {
      const system = said === null ? {} : { system: said };
      assert.deepEqual(toAnthropic(toOpenai({ ...system, messages })), { ...system, messages });
    }),
  );
});

test("and the same after the way to canonical blocks and back; each message fits its schema (CNV-3)", () => {
  fc.assert(
    fc.property(openai, (messages) => {
      for (const message of messages) OpenaiMessage.parse(message);
      const back = toOpenai(toAnthropic({ messages }));
      for (const message of back.messages) OpenaiMessage.parse(message);
      assert.deepEqual(back.messages, messages);
    }),
  );
});

test("tools and the choice among them have their names in each shape (CNV-3)", () => {
  const tools: ModelTool[] = [
    { name: "read", description: "Reads.", input_schema: { type: "object", properties: { path: { type: "string" } } } },
    { name: "bare", input_schema: { type: "object" } },
  ];
  const choices: [ToolChoice, unknown][] = [
    [{ type: "auto" }, "auto"],
    [{ type: "none" }, "none"],
    [{ type: "any" }, "required"],
    [
      { type: "tool", name: "read" },
      { type: "function", function: { name: "read" } },
    ],
  ];
  for (const [tool_choice, said] of choices) {
    const there = toOpenai({ messages: [], tools, tool_choice });
    assert.deepEqual(there.tool_choice, said);
    assert.deepEqual(there.tools?.[0], {
      type: "function",
      function: { name: "read", description: "Reads.", parameters: tools[0]!.input_schema },
    });
    assert.deepEqual(toAnthropic(there), { messages: [], tools, tool_choice });
  }
});

test("thinking stays behind; a failure says so; content without a place becomes a note (CNV-4)", () => {
  const { messages } = toOpenai({
    messages: [
      user(text("go")),
      assistant(
        { type: "thinking", thinking: "hm", signature: "s" },
        { type: "tool_use", id: "c_1", name: "draw", input: { a: 1 }, alias: "toolu_1" },
        text("drawing"),
        { type: "image", mime_type: "image/png", data: "AAAA" },
      ),
      user(
        text("and this"),
        { type: "blob", ref: `sha256-${"0".repeat(64)}`, mime_type: "video/mp4", size: 7 },
        { type: "tool_result", tool_use_id: "c_1", content: [{ type: "text", text: "no pen" }], is_error: true },
      ),
      assistant({ type: "thinking", thinking: "only", signature: "s" }),
    ],
  });
  assert.deepEqual(messages, [
    { role: "user", content: "go" },
    {
      role: "assistant",
      content: [
        { type: "text", text: "drawing" },
        { type: "text", text: "[image/png: left out, it cannot be sent here]" },
      ],
      tool_calls: [{ id: "c_1", type: "function", function: { name: "draw", arguments: '{"a":1}' } }],
    },
    {
      role: "tool",
      tool_call_id: "c_1",
      content: [
        { type: "text", text: "[The call failed.]" },
        { type: "text", text: "no pen" },
      ],
    },
    {
      role: "user",
      content: [
        { type: "text", text: "and this" },
        { type: "text", text: "[video/mp4 of 7 bytes: left out, it cannot be sent here]" },
      ],
    },
  ]);
});

test("the pictures of a tool's result stand in the user's message behind all results, with the call's name (CNV-4)", () => {
  const picture: Block = { type: "image", mime_type: "image/png", data: "AAAA" };
  const result = (id: string, ...content: Block[]): Block =>
    ({ type: "tool_result", tool_use_id: id, content }) as unknown as Block;
  const { messages } = toOpenai({
    messages: [user(result("c_1", text("a chart:"), picture, picture), result("c_2", text("ok")), text("nice"))],
  });
  const image = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } };
  const below = { type: "text", text: "[image/png, in the user message below]" };
  assert.deepEqual(messages, [
    { role: "tool", tool_call_id: "c_1", content: [{ type: "text", text: "a chart:" }, below, below] },
    { role: "tool", tool_call_id: "c_2", content: "ok" },
    {
      role: "user",
      content: [
        { type: "text", text: "[From the result of the call c_1:]" },
        image,
        image,
        { type: "text", text: "nice" },
      ],
    },
  ]);
});

test("a system message further down stands where it stood, as the user's; several at the head are one text (CNV-5)", () => {
  const { system, messages } = toAnthropic({
    messages: [
      { role: "system", content: "one" },
      { role: "developer", content: [{ type: "text", text: "two" }] },
      { role: "user", content: "hi" },
      { role: "system", content: "be brief now" },
      { role: "assistant", content: [{ type: "refusal", refusal: "no" }], refusal: "never" },
    ],
  });
  assert.equal(system, "one\n\ntwo");
  assert.deepEqual(messages, [user(text("hi"), text("be brief now")), assistant(text("no"), text("never"))]);
});

test("what only an address or a provider's id stands for is refused by its path (CNV-5)", () => {
  const refused = (part: unknown, path: string): void => {
    const messages = [{ role: "user", content: [part] }] as unknown as OpenaiMessage[];
    assert.throws(
      () => toAnthropic({ messages }),
      (error) =>
        error instanceof BytebotError && error.code === "invalid_params" && error.message.startsWith(`"${path}"`),
    );
  };
  const at = "messages.0.content.0";
  refused({ type: "image_url", image_url: { url: "https://x.test/a.png" } }, `${at}.image_url.url`);
  refused({ type: "image_url", image_url: { url: "data:text/plain,hello" } }, `${at}.image_url.url`);
  refused({ type: "file", file: { file_id: "file-1" } }, `${at}.file`);
  refused({ type: "file", file: { file_data: "AAAA" } }, `${at}.file.file_data`);
});

test("arguments that are blank are {}, and what is no JSON stays beside the call (CNV-5)", () => {
  const call = (json: string) => ({ id: "c", type: "function" as const, function: { name: "n", arguments: json } });
  const { messages } = toAnthropic({
    messages: [{ role: "assistant", content: null, tool_calls: [call(" "), call('{"a":'), call('{"a":1}')] }],
  });
  assert.deepEqual(messages[0]!.content, [
    { type: "tool_use", id: "c", name: "n", input: {} },
    { type: "tool_use", id: "c", name: "n", input: null, malformed: '{"a":' },
    { type: "tool_use", id: "c", name: "n", input: { a: 1 } },
  ]);
});

test("arguments that no event may hold are no arguments: too deep, or a key that reaches a prototype (CNV-5, FRM-6, FRM-7)", () => {
  const deep = "[".repeat(500_000) + "]".repeat(500_000);
  for (const json of [deep, '{"a":{"__proto__":{"b":1}}}', "1e400", '{"a":9007199254740993}']) {
    const tool_calls = [{ id: "c", type: "function" as const, function: { name: "n", arguments: json } }];
    const { messages } = toAnthropic({ messages: [{ role: "assistant", content: null, tool_calls }] });
    assert.deepEqual(messages[0]!.content, [
      { type: "tool_use", id: "c", name: "n", input: null, malformed: json.slice(0, 2000) },
    ]);
  }
});
