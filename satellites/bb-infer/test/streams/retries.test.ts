import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { Collected } from "../collected.ts";
import { answer, call, fail, formats, gemini, json, say, think, type Format } from "../formats/index.ts";
import { ask, never } from "./asking.ts";
import { breaks, hangs, plays, refuses, serving } from "./server.ts";

for (const format of formats) {
  test(`${format.name}: a stream that dies before its first chunk is asked for again, and answers once (hard case 11)`, async (t) => {
    const server = await serving(t, breaks(format, format.events()), plays(format, answer(format, "Here")));
    const { reply, end, error } = await ask(format, server);
    assert.equal(error, undefined);
    assert.deepEqual([reply.said, end?.stop_reason, server.heard.length], ["Here", "end_turn", 2]);
  });

  test(`${format.name}: one that dies after its first chunk, in half a call, is left to the Hub (hard case 11)`, async (t) => {
    const words = Array.from({ length: 30 }, (_, n) => say(`word${n} `));
    const frames = format.events(...words, call("add", "a", '{"x":1}'));
    // The last frames end in the middle of one.
    const half = frames.slice(0, format.events(...words).length + 1);
    half.push(half.pop()!.subarray(0, 20));
    for (const play of [breaks, plays]) {
      const server = await serving(t, play(format, half));
      const { reply, error } = await ask(format, server);
      assert.match(reply.said, /^word0 .* word29 $/);
      assert.deepEqual([error?.code, error?.retryable, server.heard.length], ["unavailable", true, 1]);
    }
  });

  test(`${format.name}: too many requests: the 3 seconds that the server asks for are waited, an interrupt ends the wait (hard case 12)`, async (t) => {
    const refused = format.refusal("rate", "slow down");
    const server = await serving(t, refuses(refused, { "retry-after": "3" }), plays(format, answer(format, "Here")));
    const stop = new AbortController();
    const asking = ask(format, server, { signal: stop.signal });
    while (server.heard.length === 0) await new Promise(setImmediate);
    await server.heard[0]!.closed;
    for (let turn = 0; turn < 100; turn += 1) await new Promise(setImmediate);
    assert.equal(server.heard.length, 1, "it did not wait");
    const stopped = process.hrtime.bigint();
    stop.abort();
    const { error } = await asking;
    assert.equal(error?.code, "cancelled");
    assert.ok(process.hrtime.bigint() - stopped < 1_000_000_000n, "it waited on");
  });

  test(`${format.name}: a wait within bounds is waited, by the header that says it, and the answer comes once (hard case 12)`, async (t) => {
    const refused = format.refusal("rate", "slow down");
    const headers: Record<string, string>[] = [
      { "retry-after-ms": "20" },
      { "retry-after": "0" },
      { "retry-after-ms": "1e999", "retry-after": "0" },
    ];
    for (const header of headers) {
      const server = await serving(t, refuses(refused, header), plays(format, answer(format, "Here")));
      // A wait of its own would be too long for the test.
      const { reply, end } = await ask(format, server, { retry: { tries: 3, first_ms: 60_000, longest_ms: 120_000 } });
      assert.deepEqual([reply.said, end?.stop_reason, server.heard.length], ["Here", "end_turn", 2]);
    }
  });

  test(`${format.name}: where no wait is said, or none that is one, it is our own (hard case 12)`, async (t) => {
    const refused = format.refusal("rate", "slow down");
    const past = new Date(Date.now() - 5000).toUTCString();
    const headers: Record<string, string>[] = [
      {},
      ...[past, "-3", "", "soon", "1e999", "NaN"].map((value) => ({ "retry-after": value })),
      ...["-3", "", "1e999", "NaN"].map((value) => ({ "retry-after-ms": value })),
    ];
    for (const header of headers) {
      const server = await serving(t, refuses(refused, header), plays(format, answer(format, "Here")));
      const { reply, end } = await ask(format, server);
      assert.deepEqual([reply.said, end?.stop_reason], ["Here", "end_turn"], JSON.stringify(header));
    }
  });

  test(`${format.name}: a wait of hours, in seconds or as a date, is reported at once (hard case 12)`, async (t) => {
    const date = new Date(Date.now() + 18_000_000).toUTCString();
    for (const header of ["18000", date]) {
      const server = await serving(t, refuses(format.refusal("rate", "come back later"), { "retry-after": header }));
      const { error } = await ask(format, server);
      assert.deepEqual([error?.code, error?.retryable, server.heard.length], ["overloaded", true, 1]);
      assert.match(error?.message ?? "", /come back later/);
      assert.ok(Math.abs((error?.retryAfterMs ?? 0) - 18_000_000) < 5000, `${error?.retryAfterMs} ms for ${header}`);
    }
  });

  test(`${format.name}: a 200 with the refusal inside is asked again before the first chunk, and reported after it (hard case 12)`, async (t) => {
    const inside = (...steps: Parameters<Format["events"]>) => plays(format, format.events(...steps));
    for (const [failure, code] of [
      ["rate", "overloaded"],
      ["busy", "unavailable"],
      ["broken", "unavailable"],
    ] as const) {
      const early = await serving(t, inside(fail(failure)), plays(format, answer(format, "Fine")));
      const again = await ask(format, early);
      assert.deepEqual([again.reply.said, early.heard.length], ["Fine", 2], `${failure}: ${again.error?.message}`);
      const late = await serving(t, inside(say("Be"), fail(failure)), plays(format, answer(format, "Fine")));
      const { error, reply } = await ask(format, late);
      assert.deepEqual([error?.code, error?.retryable, reply.said, late.heard.length], [code, true, "Be", 1], failure);
      assert.match(error?.message ?? "", /no such luck/);
    }
  });

  test(`${format.name}: a reply that begins with an error and goes on is closed, as is one with an error in it`, async (t) => {
    for (const steps of [[fail("rate")], [say("Be"), fail("busy")]] as const) {
      const server = await serving(t, hangs(format, format.events(...steps)));
      const { error } = await ask(format, server, { retry: never });
      assert.equal(error?.retryable, true);
      await within(1000, server.heard[0]!.closed);
    }
  });

  test(`${format.name}: a server that fails is asked three times in all, and then named`, async (t) => {
    for (const failure of ["busy", "broken"] as const) {
      const server = await serving(t, refuses(format.refusal(failure, "restarting")));
      const { error } = await ask(format, server);
      assert.deepEqual([error?.code, error?.retryable, server.heard.length], ["unavailable", true, 3], failure);
      assert.match(error?.message ?? "", /restarting/);
    }
  });

  test(`${format.name}: an interrupt closes the provider's connection: before the headers, before and in the text, in thinking`, async (t) => {
    const silent = await serving(t, () => undefined);
    const opened = await serving(t, hangs(format, format.events()));
    for (const server of [silent, opened]) {
      const stop = new AbortController();
      const asking = ask(format, server, { signal: stop.signal });
      while (server.heard.length === 0) await new Promise(setImmediate);
      stop.abort();
      assert.equal((await asking).error?.code, "cancelled");
      await within(1000, server.heard[0]!.closed);
    }
    for (const step of [say("Once upon"), think("Once upon")]) {
      const server = await serving(t, hangs(format, format.events(step)));
      const stop = new AbortController();
      const reply = new Collected();
      reply.onDelta = () => stop.abort();
      // Of thinking that is not told apart no delta comes.
      if (format.name.startsWith("OpenAI chat") && "think" in step) continue;
      assert.equal((await ask(format, server, { signal: stop.signal, reply })).error?.code, "cancelled");
      await within(1000, server.heard[0]!.closed);
    }
  });
}

test("Gemini: the wait that stands in the body is kept, too (hard case 12)", async (t) => {
  const short = await serving(
    t,
    refuses(gemini.refusal("rate", "slow down", 20)),
    plays(gemini, answer(gemini, "Here")),
  );
  assert.equal((await ask(gemini, short)).reply.said, "Here");
  const long = await serving(t, refuses(gemini.refusal("rate", "come back later", 18_000_000)));
  const { error } = await ask(gemini, long);
  assert.deepEqual([error?.code, error?.retryAfterMs, long.heard.length], ["overloaded", 18_000_000, 1]);
  for (const retryDelay of ["1.2.3s", ".s", `${"9".repeat(400)}s`, 7]) {
    const refused = { error: { code: 429, status: "RESOURCE_EXHAUSTED", message: "slow", details: [{ retryDelay }] } };
    const none = await serving(t, refuses(json(429, refused)), plays(gemini, answer(gemini, "Here")));
    assert.equal((await ask(gemini, none)).reply.said, "Here", String(retryDelay));
  }
});

async function within(ms: number, promise: Promise<void>): Promise<void> {
  const late = AbortSignal.timeout(ms);
  await Promise.race([promise, once(late, "abort").then(() => assert.fail(`not within ${ms} ms`))]);
}
