import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import type { BytebotError } from "bytebot/sdk";
import { readModels, type ListingOptions } from "../../src/listing.ts";
import type { Place } from "../../src/cli/models/places.ts";
import { told } from "../../src/cli/models/report.ts";
import { priceOf } from "../../src/prices.ts";
import { pinned } from "../../src/weights/index.ts";
import { bbInfer } from "./program.ts";

/** A server of this test's. Its requests are kept. */
async function serving(t: TestContext, answer: (url: URL, response: ServerResponse) => void) {
  const heard: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    heard.push(request);
    answer(new URL(request.url ?? "", "http://x"), response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { heard, baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` };
}

const json = (response: ServerResponse, body: unknown) => void response.end(JSON.stringify(body));

function list(baseUrl: string, options: Partial<ListingOptions> = {}) {
  const signal = AbortSignal.timeout(20_000);
  return readModels({ baseUrl, style: "openai", key: undefined, timeoutMs: 10_000, signal, ...options });
}

test("Anthropic's list is read page by page, with its key in its header", async (t) => {
  const { heard, baseUrl } = await serving(t, (url, response) => {
    const after = url.searchParams.get("after_id");
    const first = { data: [{ id: "claude-a", max_input_tokens: 200_000 }], has_more: true, last_id: "claude-a" };
    json(response, after === "claude-a" ? { data: [{ id: "claude-b" }], has_more: false } : first);
  });
  const { models, more } = await list(baseUrl, { style: "anthropic", key: "k-1" });
  assert.deepEqual(models, [
    { id: "claude-a", contextTokens: 200_000 },
    { id: "claude-b", contextTokens: undefined },
  ]);
  assert.equal(more, false);
  assert.deepEqual(
    heard.map(({ headers }) => headers["x-api-key"]),
    ["k-1", "k-1"],
  );
});

test("Gemini's list is read page by page, and only what answers in words is shown", async (t) => {
  const model = (name: string, method: string) => ({
    name: `models/${name}`,
    inputTokenLimit: 1_048_576,
    supportedGenerationMethods: [method],
  });
  const { heard, baseUrl } = await serving(t, (url, response) => {
    const last = { models: [model("gemini-b", "generateContent"), model("veo", "predictLongRunning")] };
    json(
      response,
      url.searchParams.get("pageToken") === "2"
        ? last
        : { models: [model("gemini-a", "generateContent")], nextPageToken: "2" },
    );
  });
  const { models } = await list(baseUrl, { style: "google", key: "k-2" });
  assert.deepEqual(
    models.map(({ id }) => id),
    ["gemini-a", "gemini-b"],
  );
  assert.equal(heard[0]?.headers["x-goog-api-key"], "k-2");
});

test("a list without an end, or the same page for ever, ends, and says that there is more", async (t) => {
  let page = 0;
  const { baseUrl } = await serving(t, (_, response) =>
    json(response, { data: [{ id: `m-${page}` }], has_more: true, last_id: `m-${page++}` }),
  );
  const endless = await list(baseUrl, { style: "anthropic" });
  assert.deepEqual([endless.models.length, endless.more], [10, true]);
  const same = await serving(t, (_, response) => json(response, { data: [{ id: "m" }], has_more: true, last_id: "m" }));
  await list(same.baseUrl, { style: "anthropic" });
  assert.equal(same.heard.length, 2);
});

test("what is no list of models is one clear error, whatever it is", async (t) => {
  const wrong: [(response: ServerResponse) => void, RegExp][] = [
    [(response) => response.end("<html>"), /^unavailable .*answered with what is no list of models/],
    [(response) => json(response, { data: { __proto__: null } }), /^unavailable .*no list of models/],
    [(response) => json(response, null), /^unavailable .*no list of models/],
    [(response) => response.end(`[${"1,".repeat(3_000_000)}1]`), /^unavailable .*a list of more than 4194304 bytes/],
    [
      (response) => response.writeHead(401).end("the key k-secret-123 is wrong"),
      /^unauthorized (?!.*k-secret).*refuses the key \(401\)/,
    ],
    [(response) => response.writeHead(404).end(), /^not_found .*lists no models/],
    [(response) => response.writeHead(500).end(), /^unavailable .*answered 500/],
    [(response) => response.writeHead(302, { location: "http://127.0.0.1:9/" }).end(), /^unavailable .*answered 302/],
    [(response) => response.destroy(), /^unavailable /],
    [() => undefined, /^unavailable .*no answer within 0.2 s/],
  ];
  for (const [answer, shows] of wrong) {
    const { baseUrl } = await serving(t, (_, response) => answer(response));
    const timeoutMs = answer.length === 0 ? 200 : 10_000;
    await assert.rejects(list(baseUrl, { key: "k-secret-123", timeoutMs }), (error: BytebotError) => {
      assert.match(`${error.code} ${error.message}`, shows);
      return true;
    });
  }
});

test("a key that cannot be sent is not repeated", async (t) => {
  const { heard, baseUrl } = await serving(t, (_, response) => json(response, { data: [] }));
  await assert.rejects(list(baseUrl, { key: "k-secret\n123" }), (error: BytebotError) => {
    assert.match(`${error.code} ${error.message}`, /^unauthorized (?!.*k-secret).*copy it again$/);
    return true;
  });
  assert.equal(heard.length, 0);
});

test("of a server's models bb-infer shows what it announces, and no key", async (t) => {
  const { heard, baseUrl } = await serving(t, (url, response) => {
    if (url.pathname !== "/v1/models") return void response.writeHead(404).end();
    json(response, {
      data: [{ id: "small", max_model_len: 8_192 }, { id: "large\u001b[2J" }, { id: "text-embedding" }, 7],
    });
  });
  const args = ["models", "--base-url", baseUrl, "--api-key-env", "MY_KEY"];
  const { code, out, err } = await bbInfer(args, { MY_KEY: "k-secret-123" });
  assert.deepEqual([code, err], [0, ""]);
  assert.match(
    out,
    /^openai-compatible, http:\S+\/v1, the key in MY_KEY\n {2}small +8,192 tokens +price unknown +tools, structured output\n/,
  );
  assert.match(out, / {2}large\\u001b\[2J +context unknown/);
  assert.doesNotMatch(out, /k-secret|embedding/);
  assert.equal(heard.find(({ url }) => url === "/v1/models")?.headers.authorization, "Bearer k-secret-123");
  const [place] = (await bbInfer([...args, "--json"], { MY_KEY: "k" })).out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Place);
  assert.deepEqual(place?.models[0]?.context_tokens, 8_192);
});

test("without options every place is told of: keys that are not set by name, and the embedded model", async () => {
  const { code, out } = await bbInfer(["models", "--json"]);
  const found = out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Place);
  const states = Object.fromEntries(found.map(({ provider, state }) => [provider, state]));
  assert.deepEqual(
    [states["anthropic"], states["openai"], states["google"], states["amazon-bedrock"]],
    Array(4).fill("no_key"),
  );
  for (const local of ["ollama", "llama-server", "lmstudio", "vllm"]) assert.ok(local in states, local);
  assert.ok(["on_disk", "download"].includes(states["embedded"] ?? ""));
  assert.equal(found.at(-1)?.models[0]?.id, pinned.name);
  assert.equal(code, 0);
});

test("a price is for a million tokens; of a model that is not in the table it is unknown", async () => {
  assert.deepEqual(await priceOf("anthropic", "claude-sonnet-4-6"), { input: 3, output: 15 });
  assert.equal(await priceOf("anthropic", "no-such-model"), undefined);
  const place: Place = {
    provider: "anthropic",
    base_url: "https://api.anthropic.com/v1",
    api_key_env: "ANTHROPIC_API_KEY",
    state: "listed",
    error: null,
    models: [
      {
        id: "claude",
        context_tokens: 200_000,
        capabilities: { tools: { native: {} }, media: ["image/png"], thinking: {} },
        price: { input: 3, output: 15 },
      },
    ],
    more: true,
  };
  assert.match(
    told(place),
    /^anthropic, https.*\n {2}claude +200,000 tokens +\$3 in, \$15 out +tools, image, thinking\n {2}… and more$/,
  );
});

test("a server that does not answer is told of, and exit code 1; a wrong option is refused, and exit code 2", async () => {
  const gone = createServer().listen(0, "127.0.0.1");
  await once(gone, "listening");
  const baseUrl = `http://127.0.0.1:${(gone.address() as AddressInfo).port}/v1`;
  await once(gone.close(), "close");
  const none = await bbInfer(["models", "--base-url", baseUrl]);
  assert.deepEqual([none.code, none.out], [1, `openai-compatible: ${baseUrl}: nothing listens there\n`]);
  const wrong: [string[], RegExp][] = [
    [["models", "--api-key-env", "sk-s3cret"], /^bb-infer: opts\.api_key_env: (?!.*s3cret).*no variable's name/],
    [["models", "--base-url", "nowhere"], /^bb-infer: opts\.base_url/],
    [["models", "--bas-url", "x"], /^bb-infer: .*--bas-url.*; see bb-infer models --help\n$/],
    [["model"], /^bb-infer: there is no command "model": the commands are models, doctor/],
    [[], /^bb-infer: a command is needed: models, doctor/],
  ];
  const ends = await Promise.all(wrong.map(([args]) => bbInfer(args)));
  for (const [at, { code, err }] of ends.entries()) {
    assert.equal(code, 2, err);
    assert.match(err, wrong[at]![1]);
  }
});
