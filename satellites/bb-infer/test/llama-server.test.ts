import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { BytebotError } from "bytebot/sdk";
import { choose } from "../src/choose.ts";
import type { Provider } from "../src/provider.ts";
import { openRemote } from "../src/remote/provider.ts";
import { prepareWeights } from "../src/weights/index.ts";
import { findPython } from "../src/weights/python.ts";
import { tools } from "../bench/questions.ts";
import { Collected, request, said } from "./collected.ts";
import { LlamaServer } from "./llama-server.ts";

let server: LlamaServer | undefined;
let provider: Provider;
const signal = AbortSignal.timeout(300_000);

// The server comes in a wheel. A machine without Python says so here instead of failing.
const skip = await findPython(signal).then(
  () => false,
  (error: Error) => error.message,
);

async function infer(given: Parameters<typeof request>[0], options: { signal?: AbortSignal; reply?: Collected } = {}) {
  const { reply = new Collected() } = options;
  const end = await provider.infer(request(given), reply, {
    signal: options.signal ?? signal,
    drained: () => Promise.resolve(),
  });
  return { reply, end };
}

suite("against a real llama-server", { skip }, () => {
  before(
    async () => {
      server = await LlamaServer.start(await prepareWeights({ signal }), signal);
      provider = await openRemote({
        provider: "openai-compatible",
        baseUrl: server.baseUrl,
        model: "any",
        params: { max_tokens: 24, temperature: 0 },
      });
    },
    { timeout: 300_000 },
  );
  after(() => server?.[Symbol.asyncDispose]());

  test("a real llama-server's answer streams, with the tokens it counted", async () => {
    const { reply, end } = await infer({ system: "Be brief.", messages: [said("What is the capital of France?")] });
    assert.match(reply.said, /\w/);
    assert.ok(reply.deltas.length > 3, "it came in one piece");
    assert.ok(["end_turn", "max_tokens"].includes(end.stop_reason));
    assert.ok((end.usage?.input_tokens ?? 0) + (end.usage?.cache_read_tokens ?? 0) > 10);
    assert.equal(end.usage?.output_tokens, 24);
  });

  test("a real llama-server takes tools, calls and results", async () => {
    const messages = [
      said("What is 6 times 7?"),
      {
        role: "assistant" as const,
        content: [{ type: "tool_use" as const, id: "c_1", name: "calculate", input: { expression: "6 * 7" } }],
      },
      {
        role: "user" as const,
        content: [
          { type: "tool_result" as const, tool_use_id: "c_1", content: [{ type: "text" as const, text: "42" }] },
        ],
      },
    ];
    const { end } = await infer({ messages, tools: tools.slice(0, 2) });
    assert.ok((end.usage?.output_tokens ?? 0) > 0);
  });

  test("an abort in the middle frees a real llama-server for the next request", async () => {
    const stop = new AbortController();
    const reply = new Collected();
    reply.onDelta = () => stop.abort();
    const long = infer(
      { messages: [said("Tell me everything about the sea.")], params: { max_tokens: 500 } },
      { signal: stop.signal, reply },
    );
    await assert.rejects(long, (error: BytebotError) => error.code === "cancelled");
    // It has one slot: the next answer comes only when the first generation has really ended.
    assert.match((await infer({ messages: [said("Hello")], params: { max_tokens: 4 } })).reply.said, /\S/);
  });

  test("a conversation too long for a real llama-server is named as that", async () => {
    await assert.rejects(infer({ messages: [said("word ".repeat(3_000))] }), (error: BytebotError) => {
      assert.deepEqual([error.code, error.retryable], ["too_large", false]);
      return true;
    });
  });

  test("a real llama-server that runs is found and chosen when nothing else is configured", async () => {
    const choice = await choose(
      {},
      { env: {}, signal, local: [{ name: "llama-server", baseUrl: server?.baseUrl ?? "" }] },
    );
    assert.equal(choice.provider, "openai-compatible");
    assert.match(choice.why, /llama-server runs at/);
    assert.match(choice.model ?? "", /gemma-3-270m/);
  });
});
