import assert from "node:assert/strict";
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { test } from "node:test";
import { createGzip } from "node:zlib";
import { openRemote } from "../../src/remote/provider.ts";
import { Collected } from "../collected.ts";
import { frame } from "../formats/converse.ts";
import {
  answer,
  call,
  compatible,
  converse,
  formats,
  gemini,
  messages,
  say,
  stop,
  whole,
  type Format,
} from "../formats/index.ts";
import { ask, called, hello, never } from "./asking.ts";
import { hangs, plays, serving } from "./server.ts";

const MIB = 1024 * 1024;

/** 40 MiB of one character behind this, in 40 KB. */
async function bomb(response: ServerResponse, status: number, type: string, begin: string): Promise<void> {
  response.writeHead(status, { "content-type": type, "content-encoding": "gzip" });
  const gzip = createGzip();
  gzip.pipe(response);
  gzip.write(begin);
  for (let size = 0; size < 40 && !response.destroyed; size += 1)
    if (!gzip.write(Buffer.alloc(MIB, "x"))) await once(gzip, "drain");
  gzip.end();
}

for (const format of formats) {
  test(`${format.name}: a small body that unpacks to forty megabytes is refused on the way`, async (t) => {
    const ok = await serving(t, (response) => bomb(response, 200, format.contentType, "data: "));
    const { error, reply } = await ask(format, ok, { retry: never });
    assert.deepEqual([error?.code, error?.retryable, reply.blocks], ["unavailable", false, []]);
    assert.match(error?.message ?? "", /an event of more than 33554432 bytes/);
    const failed = await serving(t, (response) => bomb(response, 500, "application/json", '{"error":{"message":"'));
    const told = await ask(format, failed, { retry: never });
    assert.deepEqual([told.error?.code, told.error?.retryable], ["unavailable", true]);
    assert.ok(told.error!.message.length < 1000);
  });

  test(`${format.name}: ten megabytes in one event arrive whole`, async (t) => {
    const text = "0123456789".repeat(1_000_000);
    const { reply, error } = await ask(format, await serving(t, plays(format, answer(format, text))));
    assert.equal(error, undefined);
    assert.ok(reply.said === text);
  });

  test(`${format.name}: of a flood of deltas some hundred at most are read in one turn of the event loop`, async (t) => {
    const flood = Array.from({ length: 5000 }, () => say("abcdefghij"));
    const server = await serving(t, plays(format, whole(format, ...flood, stop("end_turn"))));
    const reply = new Collected();
    let most = 0;
    let sinceTurn = 0;
    let asking = true;
    reply.onDelta = () => (most = Math.max(most, (sinceTurn += 1)));
    const turn = () => {
      sinceTurn = 0;
      if (asking) setImmediate(turn);
    };
    turn();
    const { error } = await ask(format, server, { reply });
    asking = false;
    assert.equal(error, undefined);
    assert.equal(reply.deltas.length, 5000);
    assert.ok(most < 400, `${most} in one turn`);
  });

  test(`${format.name}: who does not read is not sent more than fits on the way`, async (t) => {
    const some = format.events(say("x".repeat(1000))).at(-1)!;
    let sent = 0;
    const server = await serving(t, async (response) => {
      await hangs(format, format.events(say("x")))(response);
      // Until what was written waits here: the way is full.
      while (response.writableLength < MIB && sent < 100 * MIB) {
        response.write(some);
        sent += some.length;
        await new Promise(setImmediate);
      }
      full.resolve();
    });
    const full = Promise.withResolvers<void>();
    const stop = new AbortController();
    const provider = await openRemote(format.options(server));
    const drained = () => full.promise; // it reads nothing until then
    const asked = provider.infer(hello, new Collected(), { signal: stop.signal, drained });
    await full.promise;
    stop.abort();
    await assert.rejects(asked, { code: "cancelled" });
    assert.ok(sent < 50 * MIB, `${sent} bytes were taken`);
  });

  test(`${format.name}: a reply of thousands of calls is refused, and closed`, async (t) => {
    const calls = Array.from({ length: 3000 }, (_, n) => call("add", `c${n}`, "{}"));
    const server = await serving(t, hangs(format, format.events(...calls)));
    const { error, reply } = await ask(format, server, { retry: never });
    assert.deepEqual([error?.code, error?.retryable, reply.blocks.length], ["unavailable", false, 1000]);
    assert.match(error?.message ?? "", /more than 1000 calls/);
    await server.heard[0]!.closed;
  });

  test(`${format.name}: arguments nested half a million deep are refused or told, and end nothing`, async (t) => {
    const deep = `{"x":${"[".repeat(500_000)}`;
    // As an object, where the format has no other way.
    const frames = format === gemini ? nested() : whole(format, call("add", "a", deep), stop("tool_use"));
    const { reply, error } = await ask(format, await serving(t, plays(format, frames)), { retry: never });
    if (error) assert.equal(error.code, "unavailable");
    else assert.deepEqual(called(reply), [["add", null]]);
  });
}

/** Arguments that are an object of half a million lists. */
function nested(): Buffer[] {
  const text = Buffer.concat(whole(gemini, call("add", "a", '{"x":7}'), stop("tool_use"))).toString();
  return [Buffer.from(text.replace('"x":7', `"x":${"[".repeat(500_000)}${"]".repeat(500_000)}`))];
}

test("one event that goes on and on, line by line, is refused at 32 MiB", async (t) => {
  const line = Buffer.from(`data: ${"x".repeat(64 * 1024)}\n`);
  for (const format of [compatible, messages] satisfies Format[]) {
    const server = await serving(t, async (response) => {
      await hangs(format, format.events())(response);
      await pipeline(Readable.from(Array(1600).fill(line)), response);
    });
    const { error } = await ask(format, server, { retry: never });
    assert.match(error?.message ?? "", /an event of more than 33554432 bytes/);
    await server.heard[0]!.closed;
  }
});

test("Bedrock: a frame that claims gigabytes, or nothing, and one whose checksum is wrong are refused at once", async (t) => {
  const wrong = converse.events(say("Hi")).at(-1)!;
  wrong[wrong.length - 1]! ^= 1;
  const claims = (length: number) => {
    const bytes = Buffer.from(converse.events()[0]!);
    bytes.writeUInt32BE(length);
    return bytes;
  };
  for (const bad of [claims(0xffff_ffff), claims(0), claims(15), claims(16), wrong]) {
    const server = await serving(t, hangs(converse, [...converse.events(), bad]));
    const { error, reply } = await ask(converse, server, { retry: never });
    assert.deepEqual([error?.code, reply.blocks], ["unavailable", []], error?.message);
    await server.heard[0]!.closed;
  }
});

test("Bedrock: a frame of eight megabytes in pieces of a kilobyte arrives whole, as do frames of unknown events", async (t) => {
  const text = "0123456789".repeat(800_000);
  const unknown = frame("event", "somethingNew", { text: "?" });
  const server = await serving(t, async (response) => {
    await hangs(converse, [unknown])(response);
    const bytes = Buffer.concat(answer(converse, text));
    for (let at = 0; at < bytes.length; at += 1024) {
      if (!response.write(bytes.subarray(at, at + 1024))) await once(response, "drain");
    }
    response.end();
  });
  const { reply, error } = await ask(converse, server);
  assert.equal(error, undefined);
  assert.ok(reply.said === text);
});
