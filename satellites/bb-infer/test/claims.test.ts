import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { choose, claims } from "../src/index.ts";
import { claimsOf, type ClaimOptions } from "../src/remote/claims.ts";
import { ScriptedServer } from "./scripted-server.ts";

const signal = AbortSignal.timeout(20_000);

/** A server that says this at these paths, and is not found elsewhere. */
async function telling(t: TestContext, pages: Record<string, unknown>): Promise<string> {
  const server = await ScriptedServer.always((response) => {
    const page = pages[response.req.url ?? ""];
    response.writeHead(page === undefined ? 404 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(page ?? {}));
  });
  t.after(() => server[Symbol.asyncDispose]());
  return server.baseUrl;
}

const claimed = async (options: Partial<ClaimOptions>) =>
  (await claimsOf({ provider: "openai-compatible", model: "m", baseUrl: undefined, ...options }, signal)).capabilities;

test("what a llama-server says of its model is announced: a template without tools gets them as text", async (t) => {
  const baseUrl = await telling(t, {
    "/props": {
      chat_template_caps: { supports_tools: false },
      modalities: { vision: true, audio: false },
      default_generation_settings: { n_ctx: 4096 },
    },
  });
  assert.deepEqual(await claimed({ baseUrl }), {
    api_shape: "anthropic",
    model: "m",
    tools: { xml: { dialect: "invoke" } },
    media: ["image/*"],
    structured_output: {},
    prompt_cache: {},
    context_tokens: 4096,
  });
});

test("what an Ollama, an LM Studio and a vLLM say of their models is announced", async (t) => {
  const ollama = await telling(t, {
    "/api/show": { capabilities: ["completion", "tools", "thinking"], model_info: { "qwen3.context_length": 40_960 } },
  });
  const shown = await claimed({ baseUrl: ollama });
  assert.deepEqual(
    [shown["tools"], shown["media"], shown["thinking"], shown["context_tokens"]],
    [{ native: {} }, [], {}, 40_960],
  );
  const studio = await telling(t, {
    "/api/v0/models/m": { type: "vlm", capabilities: ["tool_use"], max_context_length: 8192 },
  });
  const seen = await claimed({ baseUrl: studio, provider: "lmstudio" });
  assert.deepEqual([seen["tools"], seen["media"], seen["context_tokens"]], [{ native: {} }, ["image/*"], 8192]);
  const vllm = await telling(t, { "/v1/models": { data: [{ id: "m", max_model_len: 32_768 }] } });
  assert.equal((await claimed({ baseUrl: vllm }))["context_tokens"], 32_768);
});

test("a guarded server is asked with the key that the app names for it, and with no vendor's", async (t) => {
  const server = await ScriptedServer.always((response) => {
    const isKnown = response.req.headers.authorization === "Bearer my-own-key";
    response
      .writeHead(isKnown ? 200 : 401)
      .end(JSON.stringify({ default_generation_settings: { n_ctx: 4096 }, modalities: {} }));
  });
  t.after(() => server[Symbol.asyncDispose]());
  const env = { MINE: "my-own-key\n", ANTHROPIC_API_KEY: "a-vendors-key", OPENAI_API_KEY: "o-vendors-key" };
  for (const provider of ["openai-compatible", "anthropic", "llama-server"]) {
    const opts = { provider, model: "m", base_url: server.baseUrl };
    const named = await choose({ ...opts, api_key_env: "MINE" }, { env, signal });
    assert.equal((await claims(named, signal, env)).capabilities["context_tokens"], 4096, provider);
    await claims(await choose(opts, { env, signal }), signal, env);
  }
  assert.doesNotMatch(JSON.stringify(server.heard), /vendors/);
});

test("of a server that says nothing nothing is claimed but tools, and the app's own word goes before all", async (t) => {
  const baseUrl = await telling(t, {});
  assert.deepEqual(await claimed({ baseUrl }), { api_shape: "anthropic", model: "m", tools: { native: {} } });
  const own = await claimed({
    baseUrl,
    tools: { xml: { dialect: "hermes" } },
    capabilities: { media: ["image/png"], context_tokens: 7 },
  });
  assert.deepEqual(own, {
    api_shape: "anthropic",
    model: "m",
    tools: { xml: { dialect: "hermes" } },
    media: ["image/png"],
    context_tokens: 7,
  });
  assert.deepEqual(Object.keys(await claimed({ baseUrl, capabilities: { tools: null } })), ["api_shape", "model"]);
});

test("a vendor's models are announced as documented, and no server is asked", async () => {
  const claude = await claimed({ provider: "anthropic", model: "claude-sonnet-4-5" });
  assert.deepEqual([claude["tools"], claude["thinking"], claude["prompt_cache"]], [{ native: {} }, {}, {}]);
  assert.equal(typeof claude["context_tokens"], "number");
  assert.ok((claude["media"] as string[]).includes("application/pdf"));
  assert.equal((await claimed({ provider: "openai", model: "gpt-4.1" }))["thinking"], undefined);
  assert.deepEqual((await claimed({ provider: "openai", model: "gpt-5-mini" }))["thinking"], {});
});
