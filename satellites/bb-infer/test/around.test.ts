import assert from "node:assert/strict";
import { test } from "node:test";
import type { BytebotError } from "bytebot/sdk";
import { playing } from "./asking.ts";
import { said } from "./collected.ts";
import { asked, at, opened, quick } from "./opened.ts";
import { answer, begin, delta, failure, ScriptedServer } from "./scripted-server.ts";

test("a fallback answers where the first model fails before its first chunk, in the order of the list", async (t) => {
  const down = await playing(t, failure(503, "down"));
  const busy = await playing(t, failure(429, "later", { headers: { "retry-after": "99999" } }));
  const good = await playing(t, answer("from the third"));
  const provider = await opened(t, { ...at(down), ...quick, fallbacks: [at(busy), at(good, "third")] });
  const { reply } = await asked(provider);
  assert.equal(reply.said, "from the third");
  assert.deepEqual(
    [down, busy, good].map(({ heard }) => heard.map(({ body }) => body["model"])),
    [["m"], ["m"], ["third"]],
  );
});

test("a fallback that is only a name is another model of the same server", async (t) => {
  const server = await playing(t, failure(404, "no such model"), answer("ok"));
  const provider = await opened(t, { ...at(server, "big"), ...quick, fallbacks: ["small"] });
  assert.equal((await asked(provider)).reply.said, "ok");
  assert.deepEqual(
    server.heard.map(({ body }) => body["model"]),
    ["big", "small"],
  );
});

test("no fallback answers after the first chunk, for a wrong request, or where a model was named", async (t) => {
  const cut = await playing(t, (response) => {
    begin(response);
    response.end(delta({ content: "half" }));
  });
  const other = await playing(t, answer("never"));
  const torn = await asked(await opened(t, { ...at(cut), ...quick, fallbacks: [at(other)] }));
  assert.deepEqual([torn.reply.said, torn.error?.code, torn.error?.retryable], ["half", "unavailable", true]);
  const picky = await playing(t, failure(400, "max_tokens is wrong"));
  const refused = await asked(await opened(t, { ...at(picky), fallbacks: [at(other)] }));
  assert.equal(refused.error?.code, "invalid_params");
  const down = await playing(t, failure(503, "down"));
  const named = await asked(await opened(t, { ...at(down), ...quick, fallbacks: [at(other)] }), { model: "this one" });
  assert.equal(named.error?.code, "unavailable");
  assert.deepEqual(other.heard, []);
});

test("a fallback that cannot be opened is no harm to the first model, and is passed over, not the one behind it", async (t) => {
  const server = await playing(t, answer("from the first"), failure(503, "down"));
  const good = await playing(t, answer("from the last"));
  const nobody = "http://127.0.0.1:9/v1";
  const fallbacks = [
    { provider: "openai-compatible", base_url: nobody },
    { provider: "no-such-package-anywhere", model: "m" },
    { model: "/nowhere/at-all.gguf" },
    at(good),
  ];
  const provider = await opened(t, { ...at(server), ...quick, fallbacks });
  assert.equal((await asked(provider)).reply.said, "from the first");
  assert.equal((await asked(provider)).reply.said, "from the last");
});

test("where the first model cannot be opened its fallback answers, and without one that is told at once", async (t) => {
  const server = await playing(t, answer("from the fallback"));
  for (const first of [{ model: "/nowhere/at-all.gguf" }, { provider: "no-such-package-anywhere", model: "m" }]) {
    const provider = await opened(t, { ...first, fallbacks: [at(server)] });
    assert.equal((await asked(provider)).reply.said, "from the fallback");
    await assert.rejects(opened(t, first), (error: BytebotError) => error.code === "not_found");
  }
});

test("where no fallback can be opened, the failure of the first model is told, and the next request tries them again", async (t) => {
  const down = await playing(t, failure(503, "down"));
  let up = false;
  const lists = await ScriptedServer.always((response) => {
    if (!up) return void response.writeHead(503).end();
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ data: [{ id: "m" }] }));
  });
  t.after(() => lists[Symbol.asyncDispose]());
  const provider = await opened(t, { ...at(down), ...quick, fallbacks: [{ base_url: lists.baseUrl }] });
  const { error } = await asked(provider);
  assert.deepEqual([error?.code, error?.retryable], ["unavailable", true]);
  assert.match(error?.message ?? "", /answered 503: down/);
  const before = lists.heard.length;
  up = true;
  await asked(provider);
  assert.ok(lists.heard.some(({ url }, index) => index >= before && url.endsWith("/chat/completions")));
});

test("a request that is stopped while a fallback is opened ends at once", async (t) => {
  const down = await playing(t, failure(503, "down"));
  const asks = Promise.withResolvers<void>();
  const slow = await ScriptedServer.always(() => asks.resolve());
  t.after(() => slow[Symbol.asyncDispose]());
  const provider = await opened(t, { ...at(down), ...quick, fallbacks: [{ base_url: slow.baseUrl }] });
  const stop = new AbortController();
  const stopped = asked(provider, {}, stop.signal);
  await asks.promise;
  stop.abort(new Error("gone"));
  assert.equal((await stopped).error?.code, "cancelled");
});

test("an answer says what it cost by the app's table, and nothing where no price is known", async (t) => {
  const server = await playing(t, answer("ok"));
  const prices = { "*": { input: 1, output: 2 }, "m*": { input: 1_000_000, output: 2_000_000, cache_read: 100_000 } };
  // 8 tokens read anew, 4 from the cache, 1 written.
  const { end } = await asked(await opened(t, { ...at(server), prices }));
  assert.equal(end?.usage?.["cost_usd"], 8 + 2 + 0.4);
  const unknown = await asked(await opened(t, at(server)));
  assert.equal(unknown.end?.usage?.input_tokens, 8);
  assert.ok(!("cost_usd" in (unknown.end?.usage ?? {})));
});

test("a vendor's models have prices without a table", async () => {
  const { openPrices } = await import("../src/prices.ts");
  const costs = await openPrices(undefined, "anthropic");
  const usage = { input_tokens: 100_000, output_tokens: 100_000, cache_read_tokens: 0, cache_write_tokens: 0 };
  assert.equal(costs("claude-sonnet-4-5", usage), 0.3 + 1.5);
  assert.equal(costs("no-such-model", usage), undefined);
  assert.equal(costs("claude-sonnet-4-5", { output_tokens: 5 }), undefined);
});

test("so many requests of a key run at once, the others wait in order, and an abort leaves the line", async (t) => {
  const gates: (() => void)[] = [];
  const server = await playing(t, async (response) => {
    await new Promise<void>((resolve) => gates.push(resolve));
    answer("ok")(response);
  });
  const provider = await opened(t, { ...at(server), rate: { at_once: 1 } });
  const stop = new AbortController();
  const first = asked(provider);
  const second = asked(provider, {}, stop.signal);
  const third = asked(provider, { messages: [said("third")] });
  stop.abort(new Error("gone"));
  assert.ok((await second).error);
  const next = async () => {
    while (gates.length === 0) await new Promise(setImmediate);
    assert.equal(gates.length, 1, "two ran at once");
    gates.shift()?.();
  };
  await next();
  assert.equal((await first).reply.said, "ok");
  await next();
  assert.equal((await third).reply.said, "ok");
  assert.deepEqual(
    server.heard.map(({ body }) => JSON.stringify(body["messages"]).includes("third")),
    [false, true],
  );
});

test("a rate that is used up for longer than a minute is told as overloaded, and asks nobody", async (t) => {
  const server = await playing(t, answer("ok"));
  const provider = await opened(t, { ...at(server), rate: { tokens_per_minute: 2 } });
  await asked(provider); // takes 9 tokens: the next one's turn comes in minutes
  const all = Array.from({ length: 102 }, () => new AbortController());
  const waiting = all.map((stop) => asked(provider, {}, stop.signal));
  const { error } = (await waiting.at(-1)) ?? {};
  assert.deepEqual([error?.code, error?.retryable], ["overloaded", true]);
  for (const stop of all) stop.abort(new Error("gone"));
  await Promise.all(waiting);
  assert.equal(server.heard.length, 1);
});
