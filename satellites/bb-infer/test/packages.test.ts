import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { before, after, suite, test } from "node:test";
import { inspect } from "node:util";
import type { BytebotError } from "bytebot/sdk";
import { infer, playing } from "./asking.ts";
import { request, said } from "./collected.ts";
import { answer } from "./scripted-server.ts";

/** A provider package as others write them: for this version of the interface, telling what it was asked. */
const source = (version: string, finish: string, { provider = "echo.chat", warnings = "[]" } = {}) => `
export function createEcho({ baseURL, apiKey }) {
  return { languageModel: (modelId) => ({
    specificationVersion: ${JSON.stringify(version)}, provider: ${JSON.stringify(provider)}, modelId,
    async doStream({ prompt, providerOptions }) {
      const text = JSON.stringify({ prompt, providerOptions, baseURL, hasKey: apiKey !== undefined });
      const parts = [{ type: "stream-start", warnings: ${warnings} }, { type: "text-start", id: "1" },
        { type: "text-delta", id: "1", delta: text }, { type: "text-end", id: "1" }, ${finish}];
      return { stream: ReadableStream.from(parts) };
    },
  }) };
}`;
const newer = `{ type: "finish", finishReason: { unified: "stop", raw: "stop" },
  usage: { inputTokens: { total: 3 }, outputTokens: { total: 2 } } }`;
const older = (input: number) =>
  `{ type: "finish", finishReason: "stop", usage: { inputTokens: ${input}, outputTokens: 2, cachedInputTokens: 2 } }`;

suite("provider packages of others", () => {
  const home = process.cwd();
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "bb-infer-"));
    const packages = {
      "echo-v4": source("v4", newer),
      "echo-v3": source("v3", newer),
      "echo-v2": source("v2", older(3)),
      "odd-v2": source("v2", older(1)),
      "anthropic-v2": source("v2", older(3), { provider: "vertex.anthropic.messages" }),
      "echo-v9": source("v9", newer),
      "warning-v2": source("v2", older(3), {
        warnings: `[{ type: "unsupported-setting", setting: "topK", details: "too old" }, { type: "other", message: "Hm." }]`,
      }),
      "silent-v3": source("v3", newer, { warnings: "undefined" }),
      "no-provider": "export const x = 1;",
    };
    for (const [name, text] of Object.entries(packages)) {
      const place = join(folder, "node_modules", name);
      await mkdir(place, { recursive: true });
      await writeFile(join(place, "package.json"), JSON.stringify({ name, type: "module", exports: "./index.js" }));
      await writeFile(join(place, "index.js"), text);
    }
    process.chdir(folder);
  });
  after(async () => {
    process.chdir(home);
    await rm(folder, { recursive: true });
  });

  const picture = { type: "image" as const, mime_type: "image/png", data: "AAAA" };
  const ask = request({ messages: [{ role: "user", content: [{ type: "text", text: "Hi" }, picture] }] });
  const own = { baseUrl: "http://127.0.0.1:9/v1" };

  for (const [version, data, usage] of [
    ["v4", { type: "data", data: "AAAA" }, { input_tokens: 3, output_tokens: 2 }],
    ["v3", "AAAA", { input_tokens: 3, output_tokens: 2 }],
    ["v2", "AAAA", { input_tokens: 1, output_tokens: 2, cache_read_tokens: 2 }],
  ] as const) {
    test(`a package for ${version} of the interface is loaded by its name from where the program runs`, async () => {
      const { reply, end } = await infer(own, { provider: `echo-${version}`, params: { own: 1 }, ask });
      const { prompt, providerOptions, hasKey } = JSON.parse(reply.said) as {
        prompt: { content: { data?: unknown }[] }[];
        providerOptions: unknown;
        hasKey: boolean;
      };
      assert.deepEqual(prompt[0]?.content[1]?.data, data);
      assert.deepEqual([providerOptions, hasKey], [{ echo: { own: 1 } }, true]);
      assert.deepEqual(end, { stop_reason: "end_turn", usage });
    });
  }

  test("tokens from a cache are counted once, whether a package for v2 has them among the others or beside them", async () => {
    const counted = async (provider: string) => (await infer(own, { provider, ask })).end?.usage;
    assert.deepEqual(await counted("anthropic-v2"), { input_tokens: 3, output_tokens: 2, cache_read_tokens: 2 });
    assert.deepEqual(await counted("odd-v2"), { input_tokens: 1, output_tokens: 2, cache_read_tokens: 2 });
  });

  test("what a package for v2 left out is told, and one that says nothing of it answers", async () => {
    const lines: string[] = [];
    const at = `bb-infer: m at ${own.baseUrl}`;
    await infer(own, { provider: "warning-v2", ask, report: (line) => lines.push(line) });
    assert.deepEqual(lines, [`${at}: top_k is left out (too old)`, `${at}: Hm.`]);
    assert.equal((await infer(own, { provider: "silent-v3", ask })).end?.stop_reason, "end_turn");
  });

  test("a package that is not there, is none, or speaks another version is named, with the fix", async () => {
    const failed = async (provider: string): Promise<BytebotError | undefined> =>
      (await infer(own, { provider, ask })).error;
    assert.deepEqual((await failed("not-there"))?.code, "not_found");
    assert.match((await failed("constructor"))?.message ?? "", /run npm install constructor where/);
    assert.match((await failed("not-there"))?.message ?? "", /run npm install not-there where this program runs/);
    assert.match((await failed("no-provider"))?.message ?? "", /no-provider has no provider of the AI SDK/);
    assert.match((await failed("echo-v9"))?.message ?? "", /speaks version v9 .* v2, v3 and v4 are spoken here/);
  });
});

test("a server of one's own needs no key, whichever format it speaks", async (t) => {
  const server = await playing(t, answer("ok"));
  assert.equal((await infer(server, { env: {} })).reply.said, "ok");
  assert.equal(server.heard[0]?.headers.authorization, undefined);
  const { error } = await infer(server, { provider: "anthropic", env: {}, ask: request({ messages: [said("Hi")] }) });
  assert.notEqual(error?.code, "unauthorized");
  assert.equal(server.heard[1]?.url, "/v1/messages");
});

test("a vendor's own place without a key is refused before anything is sent, with the variable's name", async () => {
  const outcome = await infer({ baseUrl: "https://api.anthropic.com/v1" }, { provider: "anthropic", env: {} });
  assert.equal(outcome.error?.code, "unauthorized");
  assert.match(outcome.error?.message ?? "", /set ANTHROPIC_API_KEY in the environment/);
});

test("a vendor's key goes to that vendor alone: another place gets the key that the app names for it, or none", async (t) => {
  const env = {
    ANTHROPIC_API_KEY: "a-vendors-key",
    OPENAI_API_KEY: "o-vendors-key",
    GOOGLE_GENERATIVE_AI_API_KEY: "g-vendors-key",
    AWS_BEARER_TOKEN_BEDROCK: "b-vendors-key",
    AWS_ACCESS_KEY_ID: "aws-vendors-id",
    AWS_SECRET_ACCESS_KEY: "aws-vendors-secret",
    AWS_SESSION_TOKEN: "aws-vendors-session",
    AWS_REGION: "eu-west-1",
    MINE: "my-own-key",
  };
  const before = { ...process.env };
  t.after(() => void (process.env = before));
  Object.assign(process.env, env); // packages look there by themselves
  for (const provider of ["anthropic", "openai", "google", "amazon-bedrock", "openai-compatible"]) {
    const server = await playing(t, answer("ok"));
    await infer(server, { provider, env, retry: { tries: 1 } });
    await infer(server, { provider, env, keyEnv: "MINE", retry: { tries: 1 } });
    const [without, own] = server.heard.map(({ headers, url }) => JSON.stringify([headers, url]));
    assert.ok(without !== undefined && own !== undefined, provider);
    assert.doesNotMatch(without, /vendors|my-own-key/, provider);
    assert.match(own, /my-own-key/, provider);
    assert.doesNotMatch(own, /vendors/, provider);
  }
});

test("at another place requests are signed with the keys of AWS only where the app names a region", async (t) => {
  const env = { AWS_ACCESS_KEY_ID: "aws-id", AWS_SECRET_ACCESS_KEY: "aws-secret", AWS_REGION: "us-east-1" };
  const before = { ...process.env };
  t.after(() => void (process.env = before));
  Object.assign(process.env, env);
  const server = await playing(t, answer("ok"));
  const asked = { provider: "amazon-bedrock", env, retry: { tries: 1 } };
  await infer(server, asked);
  await infer(server, { ...asked, settings: { region: "eu-west-1" } });
  const refused = await playing(t, (response) => void response.writeHead(403).end());
  const { error } = await infer(refused, asked);
  assert.match(error?.message ?? "", /or opts\.settings\.region, to sign with the keys of AWS/);
  const [unsigned, signed] = server.heard.map(({ headers }) => headers.authorization);
  assert.equal(unsigned, "Bearer none");
  assert.match(signed ?? "", /^AWS4-HMAC-SHA256 Credential=aws-id\/\d+\/eu-west-1\//);
});

test("a secret that a package reads of the environment by itself is in no error", async (t) => {
  const before = { ...process.env };
  t.after(() => void (process.env = before));
  Object.assign(process.env, { OF_ANOTHER_API_KEY: 'an0ther-"secret"/0123', AWS_SESSION_TOKEN: "s3ssion-0123456789" });
  for (const secret of [process.env["OF_ANOTHER_API_KEY"], process.env["AWS_SESSION_TOKEN"]]) {
    for (const body of [secret!, JSON.stringify({ error: { message: `no ${secret}` } }), JSON.stringify([secret])]) {
      const server = await playing(t, (response) => void response.writeHead(400).end(body));
      const { error } = await infer(server, { retry: { tries: 1 } });
      assert.equal(error?.code, "invalid_params");
      assert.doesNotMatch(inspect(error, { depth: 10 }), /an0ther|0123/);
    }
    const chunk = JSON.stringify({ choices: [{ delta: { content: "x" }, finish_reason: `no ${secret}` }] });
    const server = await playing(t, (response) => {
      response.writeHead(200, { "content-type": "text/event-stream" }).end(`data: ${chunk}\n\ndata: [DONE]\n\n`);
    });
    const { error } = await infer(server, { retry: { tries: 1 } });
    assert.match(error?.message ?? "", /ended the reply for the reason "no \[the secret in/);
  }
});
