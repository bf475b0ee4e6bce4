import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { BytebotError, ModelTool } from "bytebot/sdk";
import { tools } from "../bench/questions.ts";
import { choose } from "../src/choose.ts";
import { openEmbedded } from "../src/embedded/provider.ts";
import { claims } from "../src/open.ts";
import type { Provider } from "../src/provider.ts";
import { prepareWeights } from "../src/weights/index.ts";
import { Collected, request, said } from "./collected.ts";

let model: Provider;
const { signal } = new AbortController();

before(
  async () => (model = await openEmbedded({ file: await prepareWeights(), signal, params: { context_size: 1024 } })),
  { timeout: 300_000 },
);
after(() => model.close());

async function infer(given: Parameters<typeof request>[0], options: { signal?: AbortSignal; reply?: Collected } = {}) {
  const reply = options.reply ?? new Collected();
  const end = await model.infer(request(given), reply, {
    signal: options.signal ?? signal,
    drained: () => Promise.resolve(),
  });
  return { reply, end };
}

const used = (name: string, input: object, result: string) => [
  { role: "assistant" as const, content: [{ type: "tool_use" as const, id: "c_1", name, input }] },
  {
    role: "user" as const,
    content: [{ type: "tool_result" as const, tool_use_id: "c_1", content: [{ type: "text" as const, text: result }] }],
  },
];

test("tool_choice any gives one call of an offered tool, its arguments as the schema wants them, streamed", async () => {
  const { reply, end } = await infer({ messages: [said("What is 6 times 7?")], tools, tool_choice: { type: "any" } });
  assert.equal(end.stop_reason, "tool_use");
  assert.deepEqual(reply.blocks, [{ type: "tool_use", name: "calculate", input: { expression: "6 * 7" } }]);
  assert.ok(reply.deltas.length > 2, "the arguments came in one piece");
});

test("tool_choice tool gives a call of that tool, whatever was asked", async () => {
  const { reply } = await infer({
    messages: [said("What is 6 times 7?")],
    tools,
    tool_choice: { type: "tool", name: "read_file" },
  });
  assert.equal(reply.blocks.length, 1);
  assert.equal(reply.blocks[0]?.["name"], "read_file");
  assert.match(JSON.stringify(reply.blocks[0]?.["input"]), /^\{"path":"[^"]*"\}$/);
});

test("a tool whose name is long is called by its whole name, also beside one that begins as it does", async () => {
  const begin = "x7_q9_z4_k2_w8_".repeat(8);
  const named = (end: string): ModelTool => ({
    name: `${begin}${end}`.slice(0, 128),
    description: `Answers questions about ${end}.`,
    input_schema: { type: "object", properties: { question: { type: "string", maxLength: 20 } } },
  });
  const long = [named("weather"), named("letters")];
  const { reply, end } = await infer({ messages: [said("Will it rain?")], tools: long, tool_choice: { type: "any" } });
  assert.equal(end.stop_reason, "tool_use");
  assert.ok(long.some(({ name }) => name === reply.blocks[0]?.["name"]));
});

test("arguments follow nested schemas, enums and optional properties", async () => {
  const tool: ModelTool = {
    name: "paint",
    description: "Paints a wall.",
    input_schema: {
      type: "object",
      properties: {
        colour: { enum: ["red", "blue"] },
        size: {
          type: "object",
          properties: { width: { type: "integer" }, height: { type: "integer" } },
          required: ["width"],
        },
        note: { type: "string", maxLength: 10 },
      },
      required: ["colour", "size"],
    },
  };
  const { reply } = await infer({
    messages: [said("Paint a red wall, 3 wide")],
    tools: [tool],
    tool_choice: { type: "any" },
    params: { max_tokens: 120 },
  });
  const input = reply.blocks[0]?.["input"] as { colour: string; size: { width: number } };
  assert.ok(["red", "blue"].includes(input.colour));
  assert.ok(Number.isInteger(input.size.width));
});

test("with tool_choice auto the model may call a tool, or answer in words", async () => {
  const call = await infer({ messages: [said("Read the file notes.txt")], tools });
  assert.deepEqual([call.end.stop_reason, call.reply.blocks[0]?.["name"]], ["tool_use", "read_file"]);
  const words = await infer({ messages: [said("Who was Napoleon?")], tools });
  assert.equal(words.end.stop_reason, "end_turn");
  assert.match(words.reply.said, /\w/);
});

test("a plain answer streams, ends at its turn, and counts its tokens", async () => {
  const { reply, end } = await infer({ messages: [said("What is the capital of France?")] });
  assert.match(reply.said, /Paris/);
  assert.doesNotMatch(reply.said, /User:|Assistant:|^\s|\s$/);
  assert.equal(end.stop_reason, "end_turn");
  assert.ok(reply.deltas.length > 2);
  assert.ok((end.usage?.input_tokens ?? 0) > 5 && (end.usage?.output_tokens ?? 0) >= reply.deltas.length);
});

test("after a result the answer comes from it, also where a call is asked for again", async () => {
  const messages = [said("What is 17 times 23?"), ...used("calculate", { expression: "17 * 23" }, "391")];
  const { reply, end } = await infer({ messages, tools, tool_choice: { type: "any" } });
  assert.equal(end.stop_reason, "end_turn");
  assert.match(reply.said, /391/);
});

test("max_tokens ends a reply and says so", async () => {
  const { reply, end } = await infer({
    messages: [said("Tell me a long story about the sea.")],
    params: { max_tokens: 3 },
  });
  assert.deepEqual([end.stop_reason, end.usage?.output_tokens], ["max_tokens", 3]);
  assert.ok(reply.said.length < 60);
});

test("an abort in the middle of a reply stops it, and the next request is served", async () => {
  const stop = new AbortController();
  const reply = new Collected();
  reply.onDelta = () => stop.abort();
  await assert.rejects(
    infer(
      { messages: [said("Tell me a long story about the sea.")], tools: [], params: { temperature: 1, seed: 1 } },
      { signal: stop.signal, reply },
    ),
    (error: BytebotError) => error.code === "cancelled",
  );
  assert.ok(reply.deltas.length <= 2, `${reply.deltas.length} deltas came after the abort`);
  assert.match((await infer({ messages: [said("What is the capital of France?")] })).reply.said, /Paris/);
});

test("an abort while a long prompt is read stops it before the first word", async () => {
  const stop = new AbortController();
  const long = infer({ messages: [said("sea ".repeat(600))], tools: [] }, { signal: stop.signal });
  // A turn of the event loop later the model is reading: six hundred tokens take seconds.
  setImmediate(() => stop.abort());
  await assert.rejects(long, (error: BytebotError) => error.code === "cancelled");
});

test("requests queue, an aborted one leaves the queue at once, and beyond sixteen they are refused", async () => {
  const stop = new AbortController();
  const ask = (options?: { signal: AbortSignal }) =>
    infer({ messages: [said("Hello!")], params: { max_tokens: 2 } }, options);
  const running = ask();
  const leaving = ask({ signal: stop.signal });
  const waiting = Array.from({ length: 15 }, () => ask());
  await assert.rejects(ask(), (error: BytebotError) => error.code === "overloaded" && error.retryable);
  stop.abort();
  await assert.rejects(leaving, (error: BytebotError) => error.code === "cancelled");
  const ends = await Promise.all([running, ...waiting]);
  assert.deepEqual(new Set(ends.map(({ end }) => end.stop_reason)), new Set(["max_tokens"]));
});

test("old exchanges make room for the last; a message that alone is too long is refused with both numbers", async () => {
  const old = Array.from({ length: 12 }, () => [
    said("word ".repeat(100)),
    { role: "assistant" as const, content: [{ type: "text" as const, text: "Yes." }] },
  ]);
  const { reply } = await infer({
    messages: [...old.flat(), said("What is the capital of France?")],
    params: { max_tokens: 16 },
  });
  assert.match(reply.said, /\w/);
  await assert.rejects(infer({ messages: [said("word ".repeat(2_000))] }), (error: BytebotError) => {
    assert.equal(error.code, "too_large");
    assert.match(error.message, /prompt of \d{4} tokens, and the embedded model takes \d{3}/);
    return true;
  });
});

test("an answer has the shape of a JSON Schema, streams, and ends where it is whole", async () => {
  const response_schema = {
    type: "object",
    properties: {
      name: { type: "string" },
      age: { type: "integer" },
      pets: { type: "array", items: { enum: ["cat", "dog"] }, maxItems: 2 },
    },
    required: ["name", "age", "pets"],
  };
  const { reply, end } = await infer({
    messages: [said("Ann is 34 years old and lives in Oslo with a cat.")],
    params: { response_schema, max_tokens: 120 },
  });
  const { name, age, pets, ...rest } = JSON.parse(reply.said) as { name: string; age: number; pets: string[] };
  assert.deepEqual([typeof name, Number.isInteger(age), rest], ["string", true, {}]);
  assert.ok(pets.every((pet) => ["cat", "dog"].includes(pet)));
  assert.equal(end.stop_reason, "end_turn");
  assert.ok(reply.deltas.length > 5);
});

test("beside tools the shape is that of the answer: a call comes as a call, and what follows its result as JSON", async () => {
  const params = {
    response_schema: { type: "object", properties: { answer: { type: "integer" } }, required: ["answer"] },
  };
  const call = await infer({ messages: [said("What is 6 times 7?")], tools, tool_choice: { type: "any" }, params });
  assert.deepEqual(
    call.reply.blocks.map(({ type }) => type),
    ["tool_use"],
  );
  const messages = [said("What is 6 times 7?"), ...used("calculate", { expression: "6 * 7" }, "42")];
  const { reply } = await infer({ messages, tools, params });
  assert.equal(typeof (JSON.parse(reply.said) as { answer: number }).answer, "number");
});

test("an answer follows a grammar of one's own, white space and all", async () => {
  const { reply, end } = await infer({
    messages: [said("Hello!")],
    params: { grammar: 'root ::= "  <a>\\n" [a-z]{1,8} "\\n</a>  "' },
  });
  assert.match(reply.said, /^ {2}<a>\n[a-z]{1,8}\n<\/a> {2}$/);
  assert.equal(end.stop_reason, "end_turn");
});

test("an answer that fills its tokens before its shape is whole says so", async () => {
  const { reply, end } = await infer({
    messages: [said("Hello!")],
    params: { response_schema: { type: "array", items: { type: "integer" }, minItems: 100 }, max_tokens: 6 },
  });
  assert.equal(end.stop_reason, "max_tokens");
  assert.match(reply.said, /^\[/);
});

test("what it has no use for is ignored: thoughts, penalties that a grammar makes idle", async () => {
  const params = { reasoning: "high", presence_penalty: 0.5, frequency_penalty: 0.5, max_tokens: 4 };
  assert.match((await infer({ messages: [said("Hello!")], params })).reply.said, /\w/);
});

test("it announces calls by grammar, JSON answers, what it keeps of a prompt, its window, no media and no thoughts", () => {
  assert.deepEqual(model.capabilities, {
    api_shape: "anthropic",
    model: "gemma-3-270m-q4_k_m.gguf",
    tools: { native: {} },
    structured_output: {},
    media: [],
    prompt_cache: {},
    context_tokens: 1024,
  });
});

test("before it is loaded it announces the same, calls as text where the app says so, and no more than it was trained on", async () => {
  const before = await claims(await choose({ provider: "embedded", params: { context_size: 1024 } }), signal);
  assert.deepEqual(before.capabilities, model.capabilities);
  const tools = { xml: { dialect: "qwen" } };
  const other = await claims(await choose({ provider: "embedded", tools, params: { context_size: 100_000 } }), signal);
  assert.deepEqual([other.capabilities["tools"], other.capabilities["context_tokens"]], [tools, 32_768]);
});

test("what cannot be served is refused: another model, a tool that is not offered, a parameter out of range", async () => {
  const codes = [
    infer({ messages: [said("Hi")], model: "gpt-0" }),
    infer({ messages: [said("Hi")], tools, tool_choice: { type: "tool", name: "fly" } }),
    infer({ messages: [said("Hi")], params: { temperature: "hot" } }),
    infer({ messages: [] }),
    infer({ messages: [said("Hi")], params: { response_schema: [] } }),
    infer({ messages: [said("Hi")], params: { response_schema: {}, grammar: 'root ::= "a"' } }),
    infer({ messages: [said("Hi")], params: { grammar: "root ::= root" } }),
    infer({ messages: [said("Hi")], params: { grammar: `root ::= ${"(".repeat(5_000)}` } }),
  ].map((refused) =>
    refused.then(
      () => "served",
      (error: BytebotError) => error.code,
    ),
  );
  assert.deepEqual(await Promise.all(codes), ["not_found", ...Array.from({ length: 7 }, () => "invalid_params")]);
});
