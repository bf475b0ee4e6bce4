import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { ByteBot, MemoryBlobs, type CoreLimits, type Event } from "../../src/index.ts";
import * as bb from "../../src/sdk/index.ts";
import type { Component } from "../../src/index.ts";
import { synced } from "./peer.ts";

const MiB = 1024 * 1024;
const refOf = (bytes: Uint8Array): string => `sha256-${createHash("sha256").update(bytes).digest("hex")}`;
/** Bytes that differ from place to place, so that a part in the wrong one shows. */
const picture = Buffer.from(Uint32Array.from({ length: (5 * MiB) / 4 }, (_, n) => n * 2_654_435_761).buffer);

const camera = fileURLToPath(new URL("fixtures/camera.ts", import.meta.url));

/** A satellite in this process, once it has synced. */
async function satellite(bot: ByteBot, kind: bb.Kind): Promise<bb.Satellite> {
  const ready = Promise.withResolvers<bb.Satellite>();
  const main = async (): Promise<void> => {
    const own = await bb.sync({ kind });
    ready.resolve(own);
    await own.start();
  };
  await bot.attach({ name: kind, kind, main }).ready;
  return ready.promise;
}

async function started(
  t: TestContext,
  components: Component[] = [],
  limits: Partial<CoreLimits> = {},
): Promise<{ bot: ByteBot; blobs: MemoryBlobs }> {
  const blobs = new MemoryBlobs();
  const bot = new ByteBot({ report: (line) => t.diagnostic(line), blobs, limits });
  t.after(() => bot.stop());
  for (const component of components) bot.attach(component);
  await bot.start();
  return { bot, blobs };
}

async function untilDone(events: AsyncIterable<Event>): Promise<Event[]> {
  const seen: Event[] = [];
  for await (const event of events) {
    seen.push(event);
    if (event["kind"] === "loop_done") break;
  }
  return seen;
}

test("a picture of 5 MiB that a tool in a child returns reaches the infer as it was, and no line carried it (BLB-1, TOL-10)", async (t) => {
  const entry = { type: "stdio" as const, command: ["node", camera] };
  const { bot } = await started(t, [{ name: "camera", kind: "toolsource", entry }]);
  const seen: bb.Block[][] = [];
  const infer = await satellite(bot, "infer");
  infer.onInfer(async ({ scope, messages, round }, reply, { signal }) => {
    const whole = await infer.resolveBlobs(scope, messages, { signal });
    const last = whole.at(-1)!.content.find(({ type }) => type === "tool_result");
    if (last) seen.push(last["content"] as bb.Block[]);
    if (round > 0) return { stop_reason: "end_turn" };
    reply.toolUse({ name: "look" }).end();
    return { stop_reason: "tool_use" };
  });
  const events = bot.events("u", { signal: AbortSignal.timeout(20_000) });
  await bot.send("u", "what is there?");
  const shown = (await untilDone(events)).find(({ event_type }) => event_type === "tool_result")!;
  const [words, blob] = shown["content"] as [bb.TextBlock, bb.BlobBlock];
  assert.equal(words.text, "a picture:");
  assert.deepEqual([blob.type, blob.mime_type, blob.size], ["blob", "image/png", 5 * MiB]);
  const [, image] = seen[0]! as [unknown, { type: string; mime_type: string; data: string }];
  assert.deepEqual([image.type, image.mime_type], ["image", "image/png"]);
  assert.equal(refOf(Buffer.from(image.data, "base64")), blob.ref);
});

test("a UI uploads 5 MiB and sends them as its input; the app reads them (BLB-2, BLB-5)", async (t) => {
  const { bot, blobs } = await started(t);
  const ui = await satellite(bot, "ui");
  async function* pieces(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < picture.length; at += 70_001) yield picture.subarray(at, at + 70_001);
  }
  const block = await ui.putBlob("u", pieces(), { mimeType: "image/png", name: "a.png" });
  assert.deepEqual(block, {
    type: "blob",
    ref: refOf(picture),
    mime_type: "image/png",
    size: picture.length,
    name: "a.png",
  });
  assert.deepEqual(await ui.putBlob("u", picture, { mimeType: "image/png", name: "a.png" }), block);
  assert.ok(blobs.bytes() < 5.1 * MiB, "kept once");
  const ack = await ui.sendUserEvent("u", [block]);
  assert.equal(ack.fate, "started");
  const { stream, mimeType } = await bot.getBlob("u", block.ref);
  const got: Uint8Array[] = [];
  for await (const piece of stream) got.push(piece);
  assert.deepEqual([Buffer.concat(got).equals(picture), mimeType], [true, "image/png"]);
  const own = await bot.putBlob("u", Buffer.from("of the app"), { mimeType: "text/plain" });
  const { bytes } = await ui.getBlob("u", own.ref);
  assert.equal(Buffer.from(bytes).toString(), "of the app");
  await assert.rejects(ui.getBlob("v", own.ref), { code: "not_found" });
  await assert.rejects(ui.sendUserEvent("v", [own]), { code: "not_found" });
});

for (const sendAcks of [false, true]) {
  test(`over HTTP too a blob comes and goes, and a refusal reaches its upload${sendAcks ? ", also where events are acknowledged" : ""} (BLB-2, BLB-3)`, async (t) => {
    const { bot } = await started(t, [], { blobBytes: 6 * MiB });
    const url = await bot.serveHttp();
    const token = bot.addToken({ name: "web", kind: "ui" });
    const done = Promise.withResolvers<void>();
    const main = async (): Promise<void> => {
      const ui = await bb.sync({ kind: "ui" });
      const ended = ui.start();
      const { ref } = await ui.putBlob("u", picture, { mimeType: "image/png" });
      assert.ok(Buffer.from((await ui.getBlob("u", ref)).bytes).equals(picture));
      async function* tooMuch(): AsyncGenerator<Uint8Array> {
        for (let n = 0; n < 100; n++) yield picture.subarray(0, 200_000);
      }
      await assert.rejects(ui.putBlob("u", tooMuch()), { code: "too_large" });
      await ui.close();
      await ended;
    };
    bb.dialHttp(main, { url, token, sendAcks, signal: t.signal }).then(done.resolve, done.reject);
    await done.promise;
  });
}

test("twenty blobs at once go in turn; a reader that stops early, an abort and a failed source leave nothing behind (BLB-4)", async (t) => {
  const { bot, blobs } = await started(t, [], { blobBytes: 6 * MiB });
  const ui = await satellite(bot, "ui");
  const many = Array.from({ length: 20 }, (_, n) => Buffer.alloc(300_000, `${n}`));
  const kept = await Promise.all(many.map((bytes) => ui.putBlob("u", bytes)));
  const back = await Promise.all(kept.map(async ({ ref }) => (await ui.getBlob("u", ref)).bytes));
  assert.deepEqual(
    back.map((bytes) => refOf(bytes)),
    many.map((bytes) => refOf(bytes)),
  );
  const held = blobs.bytes();
  const waits = many.map((bytes, n) => ui.putBlob("u", bytes, n < 6 ? {} : { signal: AbortSignal.timeout(0) }));
  const ends = await Promise.allSettled(waits);
  assert.deepEqual(
    ends.slice(0, 6).map(({ status }) => status),
    Array(6).fill("fulfilled"),
    "whoever leaves takes nobody's turn",
  );
  const large = await ui.putBlob("v", picture);
  for (let times = 0; times < 12; times++) {
    const { bytes } = await ui.readBlob("v", large.ref);
    for await (const _ of bytes) break;
  }
  const stop = new AbortController();
  async function* endless(fail: () => void): AsyncGenerator<Uint8Array> {
    for (let n = 0; ; n++) {
      if (n === 3) fail();
      yield picture.subarray(0, 200_000);
    }
  }
  await assert.rejects(
    ui.putBlob(
      "u",
      endless(() => stop.abort()),
      { signal: stop.signal },
    ),
    { code: "cancelled" },
  );
  const fail = () => {
    throw new Error("the disk is gone");
  };
  await assert.rejects(ui.putBlob("u", endless(fail)), /the disk is gone/);
  await assert.rejects(
    ui.putBlob(
      "u",
      endless(() => undefined),
    ),
    { code: "too_large" },
  );
  assert.equal((await ui.putBlob("u", many[0]!)).ref, kept[0]!.ref, "what was sent before has been handled");
  assert.equal(blobs.bytes("u"), held);
});

test("500 MB from a tool are named with their size, sent nowhere, and the call has its result (TOL-10, hard case 32)", async () => {
  const huge = bb.defineTool({ name: "huge", input: z.object({}), run: () => new Uint8Array(500_000_000) });
  const more = { limits: { line_bytes: MiB, values: 10_000, depth: 64, blob_bytes: 64 * MiB } };
  await using running = await synced({ kind: "toolsource" }, (own) => own.tool(huge), more);
  const { peer } = running;
  peer.send({
    event_type: "bb_tool_register_result",
    in_reply_to: String((await peer.next("bb_tool_register"))["id"]),
    success: true,
  });
  peer.send({ event_type: "bb_tool_call_request", call_id: "c1", name: "huge", input: {}, scope: "u" });
  const [note] = (await peer.next("bb_tool_call_result"))["content"] as bb.TextBlock[];
  assert.match(
    note!.text,
    /^\[file \(application\/octet-stream\) of 500000000 bytes left out: .* limit is 67108864\]$/,
  );
  assert.deepEqual(
    peer.events.filter(({ event_type }) => event_type === "bb_blob"),
    [],
  );
});

test("only wanted media come in place of their references, the newest first while there is room", async (t) => {
  const { bot } = await started(t);
  const infer = await satellite(bot, "infer");
  const put = (fill: string, mimeType: string) => infer.putBlob("u", Buffer.alloc(1000, fill), { mimeType });
  const [older, newer, text] = [await put("a", "image/png"), await put("b", "audio/wav"), await put("c", "text/plain")];
  const gone = { ...older, ref: `sha256-${"0".repeat(64)}` };
  const result = { type: "tool_result" as const, tool_use_id: "c1", content: [newer] };
  const messages: bb.Message[] = [
    { role: "user", content: [older, text, gone] },
    { role: "user", content: [result, { type: "text", text: "hm" }] },
  ];
  const types = async (options: bb.ResolveOptions) =>
    (await infer.resolveBlobs("u", messages, options))
      .flatMap(({ content }) =>
        content.flatMap((block) => (block.type === "tool_result" ? (block["content"] as bb.Block[]) : [block])),
      )
      .map(({ type }) => type);
  assert.deepEqual(await types({}), ["image", "blob", "blob", "audio", "text"]);
  assert.deepEqual(await types({ maxBytes: 1500 }), ["blob", "blob", "blob", "audio", "text"]);
  assert.deepEqual(await types({ types: /^text\// }), ["blob", "file", "blob", "blob", "text"]);
});

test("bytes that are not those of the ref are refused, and so is a part in another's place (BLB-5)", async () => {
  await using running = await synced({ kind: "infer" }, () => undefined);
  const { peer, satellite: infer } = running;
  const ref = refOf(Buffer.from("abc"));
  for (const [parts, why] of [
    [["a", "c", "b"], /the bytes that came are sha256-/],
    [["a", undefined, "c"], /part 1 of sha256-.* did not come in its turn/],
  ] as const) {
    const getting = infer.getBlob("u", ref);
    const { id } = await peer.next("bb_blob");
    for (const [part, text] of parts.entries()) {
      if (text === undefined) continue;
      const data = Buffer.from(text).toString("base64");
      peer.send({ event_type: "bb_blob", in_reply_to: id, scope: "u", part, last: part === 2, data });
    }
    await assert.rejects(getting, (error) => error instanceof bb.BytebotError && why.test(error.message));
  }
  const lost = infer.getBlob("u", ref);
  await peer.next("bb_blob");
  await peer.link.close("the Hub is gone");
  await assert.rejects(lost, { code: "unavailable" });
  await assert.rejects(infer.getBlob("u", ref), { code: "unavailable" });
});
