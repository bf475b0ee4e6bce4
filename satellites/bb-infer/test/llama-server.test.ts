import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { BytebotError } from "bytebot/sdk";
import { choose } from "../src/choose.ts";
import { claimsOf } from "../src/remote/claims.ts";
import { openRemote, type RemoteOptions } from "../src/remote/provider.ts";
import { prepareWeights } from "../src/weights/index.ts";
import { findPython } from "../src/weights/python.ts";
import { Collected, request, said } from "./collected.ts";
import { LlamaServer } from "./llama-server.ts";
import { answered, calculate, called, calls } from "./shots.ts";

const signal = AbortSignal.timeout(300_000);
const key = "s3cret-0123456789";
let server: LlamaServer;

// The server comes in a wheel. A machine without Python says so here instead of failing.
const skip = await findPython(signal).then(
  () => false,
  (error: Error) => error.message,
);

interface Asked extends Partial<RemoteOptions> {
  given: Parameters<typeof request>[0];
  signal?: AbortSignal;
  reply?: Collected;
}

/** One request to the server, in the format of this provider. */
async function infer({ given, signal: own = signal, reply = new Collected(), ...options }: Asked) {
  const provider = await openRemote({
    provider: "openai-compatible",
    model: "any",
    baseUrl: server.baseUrl,
    keyEnv: "KEY",
    params: { max_tokens: 40, temperature: 0 },
    retry: { tries: 1 },
    env: { KEY: key },
    ...options,
  });
  const end = await provider.infer(request(given), reply, { signal: own, drained: () => Promise.resolve() });
  return { reply, end };
}

const city = {
  type: "object",
  properties: { city: { type: "string", maxLength: 20 } },
  required: ["city"],
  additionalProperties: false,
};

suite("against a real llama-server", { skip }, () => {
  before(
    async () =>
      (server = await LlamaServer.start(await prepareWeights({ signal }), signal, { key, template: "turns" })),
    {
      timeout: 300_000,
    },
  );
  after(() => server?.[Symbol.asyncDispose]());

  for (const provider of ["openai-compatible", "anthropic"]) {
    suite(`in the format of ${provider}`, () => {
      test("an answer streams, and a prompt that is read again is counted as kept", async () => {
        const given = { system: "Be brief.", messages: [said("What is the capital of France?")] };
        const { reply, end } = await infer({ provider, given });
        assert.match(reply.said, /\w/);
        assert.ok(reply.deltas.length > 3, "it came in one piece");
        assert.ok((end.usage?.output_tokens ?? 0) >= reply.deltas.length);
        const again = await infer({ provider, given });
        assert.equal(again.reply.said, reply.said);
        const { input_tokens = 0, cache_read_tokens = 0 } = again.end.usage ?? {};
        assert.ok(cache_read_tokens > 10 && input_tokens < cache_read_tokens, JSON.stringify(again.end.usage));
      });

      for (const tool_choice of [{ type: "any" as const }, { type: "auto" as const }]) {
        test(`a call comes with its arguments streamed, tool_choice ${tool_choice.type}`, async () => {
          const messages = [...calls, said("What is 6 times 7?")];
          const { reply, end } = await infer({ provider, given: { messages, tools: [calculate], tool_choice } });
          assert.deepEqual(
            reply.blocks.map(({ type, name, input }) => [type, name, input]),
            [["tool_use", "calculate", { expression: "6 * 7" }]],
          );
          assert.ok(reply.deltas.length > 3, "the arguments came in one piece");
          assert.equal(end.stop_reason, "tool_use");
        });
      }

      test("a result goes back, and the answer is in words", async () => {
        const messages = [
          ...called("What is 2 plus 3?", "calculate", { expression: "2 + 3" }, "5"),
          answered("It is 5."),
          ...called("What is 6 times 7?", "calculate", { expression: "6 * 7" }, "42"),
        ];
        const { reply, end } = await infer({ provider, given: { messages, tools: [calculate] } });
        assert.match(reply.said, /^It is /);
        assert.equal(end.stop_reason, "end_turn");
      });

      test("an answer has the shape of a JSON Schema", async () => {
        // The Anthropic format has no field for it here: its package asks for a call of a tool named json.
        const shown = [
          ...called("What is the capital of Italy?", "json", { city: "Rome" }, "ok"),
          ...called("What is the capital of Spain?", "json", { city: "Madrid" }, "ok"),
        ];
        const messages = [...(provider === "anthropic" ? shown : []), said("What is the capital of France?")];
        const params = { response_schema: city, max_tokens: 200 };
        const { reply, end } = await infer({ provider, given: { messages, params } });
        assert.equal(typeof (JSON.parse(reply.said) as { city: string }).city, "string");
        assert.equal(end.stop_reason, "end_turn");
      });

      test("an abort in the middle ends the generation, and frees the server for the next request", async () => {
        const stop = new AbortController();
        const reply = new Collected();
        reply.onDelta = () => stop.abort();
        const given = { messages: [said("Tell me everything about the sea.")], params: { max_tokens: 900 } };
        await assert.rejects(infer({ provider, given, signal: stop.signal, reply }), { code: "cancelled" });
        await server.idle(AbortSignal.timeout(10_000));
        assert.match((await infer({ provider, given: { messages: [said("Hello")] } })).reply.said, /\S/);
      });

      test("a conversation that is too long is named as that, a wrong key and a wrong path as those", async () => {
        const refused = (asked: Omit<Asked, "given">, text = "Hello") =>
          infer({ provider, ...asked, given: { messages: [said(text)] } }).then(
            () => "answered",
            ({ code, retryable, message }: BytebotError) => {
              assert.doesNotMatch(message, /s3cret/);
              return [code, retryable];
            },
          );
        assert.deepEqual(await refused({}, "word ".repeat(3_000)), ["too_large", false]);
        assert.deepEqual(await refused({ env: { KEY: "s3cret-but-wrong" } }), ["unauthorized", false]);
        assert.deepEqual(await refused({ env: {} }), ["unauthorized", false]);
        assert.deepEqual(await refused({ baseUrl: server.baseUrl.replace(/v1$/, "v2") }), ["not_found", false]);
      });

      test("it is announced with its tools, its window and no media, as it says itself", async () => {
        const headers = { authorization: `Bearer ${key}` };
        const asked = { provider, model: "any", baseUrl: server.baseUrl, headers };
        const { capabilities } = await claimsOf(asked, signal);
        const { tools, context_tokens, media } = capabilities;
        assert.deepEqual([tools, context_tokens, media], [{ native: {} }, 1024, []]);
      });
    });
  }

  test("of OpenAI's two formats it speaks chat whole; of responses too little for the package, which says so", async () => {
    const given = { messages: [said("What is the capital of France?")] };
    const { reply } = await infer({ provider: "openai", api: "chat", given });
    assert.match(reply.said, /\w/);
    const responses = infer({ provider: "openai", given });
    await assert.rejects(responses, { code: "unavailable", message: /no reply in this provider's format/ });
  });

  test("a parameter of the server's own goes along as it is: a grammar, which the answer follows", async () => {
    const params = { grammar: 'root ::= "<" [a-z]{1,8} ">"' };
    const { reply, end } = await infer({ given: { messages: [said("Hello")], params } });
    assert.match(reply.said, /^<[a-z]{1,8}>$/);
    assert.equal(end.stop_reason, "end_turn");
  });

  test("its model is found by asking it, where none is named", async () => {
    const choice = await choose({ base_url: server.baseUrl, api_key_env: "KEY" }, { env: { KEY: key }, signal });
    assert.deepEqual([choice.provider, choice.why], ["openai-compatible", "opts.base_url is set"]);
    assert.match(choice.model ?? "", /gemma-3-270m/);
  });
});
