import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { defaultTimeouts } from "../../src/remote/watched.ts";
import { answer, formats, say, stop, whole } from "../formats/index.ts";
import { ask, soon } from "./asking.ts";
import { plays, serving, type Play } from "./server.ts";

interface Agent {
  destroy(): Promise<void>;
}

/** Node's own limits on a silence, five minutes each, as short as it can: of `fetch` as any program has it. */
function impatient(t: TestContext): void {
  void Response; // there is none before
  const places = globalThis as unknown as Record<symbol, Agent>;
  for (const version of [1, 2]) {
    const place = Symbol.for(`undici.globalDispatcher.${version}`);
    const usual = places[place];
    if (!usual) continue;
    const Own = usual.constructor as new (options: object) => Agent;
    const made = (places[place] = new Own({ headersTimeout: 1, bodyTimeout: 1 }));
    t.after(() => {
      places[place] = usual;
      return made.destroy();
    });
  }
}

test("a server may be silent for longer than Node's fetch allows, before its headers and after them", async (t) => {
  impatient(t);
  const never = await serving(t, () => undefined);
  // Of two requests the one that began first fails first.
  const tooLong = () =>
    assert.rejects(fetch(never.origin, { method: "POST" }), (error: Error & { cause: { code: string } }) => {
      return error.cause.code === "UND_ERR_HEADERS_TIMEOUT";
    });
  const [format] = formats;
  const late: Play = async (response) => {
    await tooLong();
    await plays(format!, answer(format!, "Late"))(response);
  };
  const frames = whole(format!, say("Slow"), stop("end_turn"));
  const slow: Play = async (response) => {
    response.writeHead(200, { "content-type": format!.contentType });
    response.write(frames[0]);
    await tooLong();
    response.end(Buffer.concat(frames.slice(1)));
  };
  for (const [play, text] of [
    [late, "Late"],
    [slow, "Slow"],
  ] as const) {
    const server = await serving(t, play);
    const { reply, error } = await ask(format!, server, { retry: { ...soon, tries: 1 } });
    assert.deepEqual([error?.message, reply.said], [undefined, text]);
  }
});

for (const format of formats) {
  test(`${format.name}: a silent server is not asked again here, and both limits on its silence are named`, async (t) => {
    const server = await serving(t, () => undefined);
    const { error } = await ask(format, server, { timeouts: { first_ms: 150 } });
    assert.deepEqual([error?.code, error?.retryable], ["timeout", true]);
    // None, where the machine is too slow to be heard in time.
    assert.ok(server.heard.length <= 1, `${server.heard.length} requests`);
    assert.match(error?.message ?? "", /opts\.timeouts\.first_ms .* limits\.inferIdleMs/);
  });
}

test("a silent model and a silent fallback take less than the Hub waits for a chunk, and leave time for a third", () => {
  assert.ok(2 * defaultTimeouts.first_ms < 300_000);
});
