import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { playing } from "./asking.ts";
import { Collected, said } from "./collected.ts";
import { asked, at, opened, quick } from "./opened.ts";
import { answer, begin, delta, failure } from "./scripted-server.ts";

/** An answer of a server that does not say what it took. */
function uncounted(content: string): (response: ServerResponse) => void {
  return (response) => {
    begin(response);
    response.write(delta({ content }, "stop"));
    response.end("data: [DONE]\n\n");
  };
}

test("a budget that is used up refuses the next request with both figures, and asks nobody", async (t) => {
  const server = await playing(t, answer("ok"));
  const provider = await opened(t, { ...at(server), budget: { tokens: 10 } });
  assert.equal((await asked(provider)).error, undefined);
  const { error } = await asked(provider);
  assert.deepEqual([error?.code, error?.retryable], ["budget_exceeded", false]);
  assert.match(error?.message ?? "", /13 of 10 tokens/);
  assert.equal(server.heard.length, 1);
});

test("a budget that is used up is not mended by a fallback", async (t) => {
  const server = await playing(t, answer("ok"));
  const other = await playing(t, answer("never"));
  const provider = await opened(t, { ...at(server), budget: { tokens: 10 }, fallbacks: [at(other)] });
  await asked(provider);
  assert.equal((await asked(provider)).error?.code, "budget_exceeded");
  assert.deepEqual(other.heard, []);
});

test("what broke off or was stopped counts what it sent and what came, and what was refused counts nothing", async (t) => {
  const half = (response: ServerResponse) => {
    begin(response);
    response.write(delta({ content: "x".repeat(4_000) }));
  };
  const cut = await playing(t, (response) => {
    half(response);
    response.end();
  });
  const broken = await opened(t, { ...at(cut), ...quick, budget: { tokens: 2_000 } });
  assert.equal((await asked(broken)).error?.code, "unavailable");
  assert.equal((await asked(broken)).error?.code, "unavailable");
  assert.match((await asked(broken)).error?.message ?? "", /20\d\d of 2000 tokens/);
  const hangs = await playing(t, half);
  const stopped = await opened(t, { ...at(hangs), ...quick, budget: { tokens: 1_000 } });
  const stop = new AbortController();
  const reply = new Collected();
  reply.onDelta = () => stop.abort(new Error("enough"));
  assert.equal((await asked(stopped, {}, stop.signal, reply)).error?.code, "cancelled");
  assert.match((await asked(stopped)).error?.message ?? "", /10\d\d of 1000 tokens/);
  const down = await playing(t, failure(503, "down"), answer("ok"));
  const refused = await opened(t, { ...at(down), ...quick, budget: { tokens: 1 } });
  assert.equal((await asked(refused, { messages: [said("x".repeat(4_000))] })).error?.code, "unavailable");
  assert.equal((await asked(refused)).reply.said, "ok");
});

test("an answer whose server does not count counts by its characters, in tokens and in dollars", async (t) => {
  const server = await playing(t, uncounted("x".repeat(400)));
  const provider = await opened(t, { ...at(server), budget: { tokens: 100 } });
  assert.equal((await asked(provider)).error, undefined);
  assert.match((await asked(provider)).error?.message ?? "", /1\d\d of 100 tokens/);
  const prices = { m: { input: 0, output: 1_000 } };
  const dear = await opened(t, { ...at(server), budget: { cost_usd: 0.15 }, prices });
  assert.equal((await asked(dear)).error, undefined);
  assert.equal((await asked(dear)).error, undefined);
  assert.match((await asked(dear)).error?.message ?? "", /\$0\.2000 of \$0\.15/);
});

test("requests that come together do not all begin on a budget for one, and what was set aside comes back", async (t) => {
  const gate = Promise.withResolvers<void>();
  const server = await playing(t, async (response) => {
    await gate.promise;
    answer("ok")(response);
  });
  const provider = await opened(t, { ...at(server), budget: { tokens: 20 } });
  const first = asked(provider);
  const others = await Promise.all(Array.from({ length: 49 }, () => asked(provider)));
  assert.deepEqual(
    new Set(others.map(({ error }) => `${error?.code} ${error?.retryable}`)),
    new Set(["overloaded true"]),
  );
  gate.resolve();
  assert.equal((await first).reply.said, "ok");
  assert.equal((await asked(provider)).reply.said, "ok"); // 13 of 20 were used, and nothing is set aside
  assert.equal((await asked(provider)).error?.code, "budget_exceeded");
  assert.equal(server.heard.length, 2);
});

test("a request sets aside what its max_tokens allow", async (t) => {
  const gate = Promise.withResolvers<void>();
  const server = await playing(t, async (response) => {
    await gate.promise;
    answer("ok")(response);
  });
  const provider = await opened(t, { ...at(server), budget: { tokens: 1_900 }, params: { max_tokens: 900 } });
  const begun = [asked(provider), asked(provider, { params: { max_tokens: 100 } }), asked(provider)];
  assert.match((await asked(provider)).error?.message ?? "", /set aside for 3 running requests/);
  gate.resolve();
  assert.deepEqual(
    (await Promise.all(begun)).map(({ reply }) => reply.said),
    ["ok", "ok", "ok"],
  );
});

test("under a budget in dollars a request for a model without a price is refused itself, and no other", async (t) => {
  const server = await playing(t, answer("ok"));
  const prices = { m: { input: 1, output: 1 } };
  const provider = await opened(t, { ...at(server), prices, budget: { cost_usd: 1 } });
  const { error } = await asked(provider, { model: "nobody-knows" });
  assert.equal(error?.code, "invalid_params");
  assert.match(error?.message ?? "", /what nobody-knows costs is not known: add it to opts\.prices/);
  assert.equal((await asked(provider)).reply.said, "ok");
  assert.equal(server.heard.length, 1);
});

test("a budget in dollars for a model without a price is refused at once, with the fix", async (t) => {
  const server = await playing(t, answer("ok"));
  await assert.rejects(opened(t, { ...at(server), budget: { cost_usd: 1 } }), /what m costs is not known: add it to/);
});

test("an embedded model without a price is refused under a budget in dollars before it is loaded", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "bytebot-around-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  // Loading this would fail, and say so.
  const model = join(folder, "no-model.gguf");
  await writeFile(model, "GGUF and nothing more");
  const prices = { "gpt*": { input: 1, output: 1 } };
  const refused = opened(t, { model, prices, budget: { cost_usd: 1 } });
  await assert.rejects(refused, /what no-model\.gguf costs is not known/);
});
