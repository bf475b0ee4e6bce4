import assert from "node:assert/strict";
import { test } from "node:test";
import type { BytebotError } from "bytebot/sdk";
import { choose, type Choice } from "../src/choose.ts";
import { ScriptedServer } from "./scripted-server.ts";

const keys = { ANTHROPIC_API_KEY: "a-key", OPENAI_API_KEY: "o-key" };
const nobody = { local: [] };

const short = (choice: Choice) =>
  choice.kind === "embedded"
    ? `embedded ${choice.model ?? "built-in"}`
    : `${choice.model} at ${choice.baseUrl} with ${choice.keyEnv ?? "no key"}`;

async function listing(...ids: string[]): Promise<ScriptedServer> {
  return ScriptedServer.always((response) => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ data: ids.map((id) => ({ id })) }));
  });
}

test("what opts say goes before every key and server", async () => {
  assert.equal(short(await choose({ provider: "embedded" }, { env: keys })), "embedded built-in");
  assert.equal(short(await choose({ model: "./m.gguf" }, { env: keys })), "embedded ./m.gguf");
  assert.equal(short(await choose({ model: "hf:a/b/c.gguf" }, { env: keys })), "embedded hf:a/b/c.gguf");
  const own = { base_url: "http://127.0.0.1:9/v1/", model: "m", api_key_env: "MINE" };
  assert.equal(short(await choose(own, { env: keys })), "m at http://127.0.0.1:9/v1 with MINE");
});

test("Anthropic's key goes before OpenAI's, and a model's name to whoever has it", async () => {
  assert.match(
    short(await choose({}, { env: keys })),
    /^claude-\S+ at https:\/\/api\.anthropic\.com\/v1 with ANTHROPIC_API_KEY$/,
  );
  assert.match(
    short(await choose({}, { env: { OPENAI_API_KEY: "k" } })),
    /at https:\/\/api\.openai\.com\/v1 with OPENAI_API_KEY$/,
  );
  assert.match(short(await choose({ model: "gpt-9" }, { env: keys })), /^gpt-9 at https:\/\/api\.openai\.com/);
  const choice = await choose({}, { env: keys });
  assert.doesNotMatch(JSON.stringify(choice), /a-key|o-key/);
});

test("a local server's first chat model is taken, and something else on its port is passed over", async () => {
  await using server = await listing("nomic-embed-text", "qwen3:latest", "other");
  await using website = await ScriptedServer.always((response) => void response.end("<html>"));
  const local = [
    { name: "website", baseUrl: website.baseUrl },
    { name: "Ollama", baseUrl: server.baseUrl },
  ];
  assert.equal(short(await choose({}, { env: {}, local })), `qwen3:latest at ${server.baseUrl} with no key`);
  assert.equal(
    short(await choose({ model: "qwen3" }, { env: {}, local })),
    `qwen3:latest at ${server.baseUrl} with no key`,
  );
});

test("a server that accepts and never answers does not hold up the choice", async () => {
  await using silent = await ScriptedServer.always(() => undefined);
  assert.equal(
    short(await choose({}, { env: {}, local: [{ name: "silent", baseUrl: silent.baseUrl }] })),
    "embedded built-in",
  );
});

test("with nothing configured and nothing running the embedded model is chosen, and says why", async () => {
  const choice = await choose({}, { env: {}, ...nobody });
  assert.deepEqual([short(choice), choice.why], ["embedded built-in", "no key is set and no local server runs"]);
});

test("wrong opts are refused by name, and a key in the place of its name is not repeated", async () => {
  const wrong: [Record<string, unknown>, RegExp][] = [
    [{ modell: "x" }, /^bb-infer: opts\.modell: there is no such option; leave it out; there are provider, model/],
    [{ provider: "open ai" }, /opts\.provider is "open ai": one of embedded, anthropic, openai, /],
    [{ settings: { apiKey: "sk-s3cret" } }, /^(?!.*s3cret).*opts\.settings: keys come from the environment/],
    [{ timeouts: { idle_ms: 0 } }, /opts\.timeouts\.idle_ms is 0: /],
    ...["first_ms", "idle_ms", "total_ms"].map((name): [Record<string, unknown>, RegExp] => [
      { timeouts: { [name]: 2 ** 31 } },
      /opts\.timeouts\..+_ms is 2147483648: at most 2147483647 milliseconds/,
    ]),
    [{ retry: { longest_ms: 1e12 } }, /opts\.retry\.longest_ms is 1000000000000: at most 2147483647 milliseconds/],
    [{ fallbacks: [{ api_key: "sk-s3cret" }] }, /^(?!.*s3cret).*opts\.fallbacks/],
    [{ base_url: "localhost:8080" }, /opts\.base_url is "localhost:8080": a URL is needed/],
    [{ params: [] }, /opts\.params/],
    [{ headers: { a: 1 } }, /opts\.headers/],
    [{ api_key_env: "sk-s3cret" }, /^(?!.*s3cret).*opts\.api_key_env: this is no variable's name/],
    [{ api_key_env: "a1b2s3cret" }, /^(?!.*s3cret).*opts\.api_key_env: this is no variable's name/],
    [{ api_key_env: ["sk-s3cret"] }, /^(?!.*s3cret).*opts\.api_key_env: this is no variable's name/],
    [{ api_key: "sk-s3cret" }, /^(?!.*s3cret).*opts\.api_key: .*keys come from the environment/],
    [{ base_url: "https://me:s3cret@example.com/v1" }, /^(?!.*s3cret).*opts\.base_url: it may hold no user name/],
    [{ base_url: "http://" }, /opts\.base_url is "http:\/\/": a URL is needed/],
    [{ model: "llama9" }, /the model llama9 is asked for, and none is known that has it/],
  ];
  for (const [opts, message] of wrong) {
    await assert.rejects(
      choose(opts, { env: {}, ...nobody }),
      (error: BytebotError) => message.test(error.message) || assert.fail(error.message),
    );
  }
});
