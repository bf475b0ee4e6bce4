import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { setImmediate as turnOfTheLoop } from "node:timers/promises";
import { test } from "node:test";
import { MemoryBlobs } from "../../src/log/index.ts";
import type { Event } from "../../src/wire/index.ts";
import { World, type Peer } from "./world.ts";

const refOf = (bytes: Uint8Array | string): string => `sha256-${createHash("sha256").update(bytes).digest("hex")}`;
const base64 = (bytes: Uint8Array | string): string => Buffer.from(bytes as string).toString("base64");
const part = (id: string, number: number, bytes: string, last = false, more: object = {}): Event => ({
  event_type: "bb_blob",
  id,
  scope: "u",
  part: number,
  last,
  data: base64(bytes),
  ...more,
});
const wish = (id: string, ref: string, scope = "u"): Event => ({ event_type: "bb_blob", id, scope, ref });

/** Everything that came for this transfer. */
const about = (peer: Peer, id: string): Event[] => peer.got.filter((event) => event["in_reply_to"] === id);
const codes = (peer: Peer, id: string): unknown[] => about(peer, id).map(({ code, ref }) => code ?? ref);

test("bytes that came in parts have their ref, and come back in parts, with their type (BLB-2, BLB-3, BLB-5)", async () => {
  const world = new World();
  const ui = await world.join("ui");
  await ui.send(part("b1", 0, "hello ", false, { mime_type: "text/plain", size: 11 }), part("b1", 1, "world", true));
  const ref = refOf("hello world");
  const { ts: _, ...kept } = ui.last("bb_blob");
  assert.deepEqual(kept, {
    event_type: "bb_blob",
    in_reply_to: "b1",
    scope: "u",
    ref,
    size: 11,
    mime_type: "text/plain",
  });
  const infer = await world.join("infer");
  await infer.send(wish("d1", ref));
  const { ts: __, ...got } = infer.last("bb_blob");
  assert.deepEqual(got, {
    event_type: "bb_blob",
    in_reply_to: "d1",
    scope: "u",
    part: 0,
    last: true,
    data: base64("hello world"),
    ref,
    size: 11,
    mime_type: "text/plain",
  });
  await world.end();
});

test("a blob of no bytes and one of several parts come back whole (BLB-5, hard case 32)", async () => {
  const world = new World();
  const ui = await world.join("ui");
  const bytes = Buffer.alloc(1_000_000, "0123456789abcdefg");
  await ui.send(part("empty", 0, "", true));
  for (let at = 0, number = 0; at < bytes.length; at += 300_000, number++) {
    const piece = bytes.subarray(at, at + 300_000);
    await ui.send({ ...part("large", number, "", at + 300_000 >= bytes.length), data: piece.toString("base64") });
  }
  for (const [id, whole] of [
    ["empty", Buffer.alloc(0)],
    ["large", bytes],
  ] as const) {
    assert.deepEqual(codes(ui, id), [refOf(whole)]);
    await ui.send(wish(`get_${id}`, refOf(whole)));
    for (let turns = 0; turns < 40; turns++) await world.settle();
    const parts = about(ui, `get_${id}`);
    assert.deepEqual(
      parts.map(({ part: number, last }) => [number, last]),
      parts.map((_, index) => [index, index === parts.length - 1]),
    );
    assert.deepEqual(Buffer.concat(parts.map(({ data }) => Buffer.from(String(data), "base64"))), whole);
  }
  await world.end();
});

test("what is wrong with an upload refuses it once, the rest of it is dropped, and nothing of it stays (BLB-3)", async () => {
  const world = new World();
  const ui = await world.join("ui");
  const tries: [string, string, Event[]][] = [
    ["out of order", "invalid_params", [part("x", 0, "a"), part("x", 2, "c"), part("x", 3, "d", true)]],
    ["a part twice", "invalid_params", [part("x", 0, "a"), part("x", 1, "b"), part("x", 1, "b")]],
    ["without a beginning", "not_found", [part("y", 1, "b", true), part("y", 2, "c", true)]],
    ["two with one id", "conflict", [part("x", 0, "a"), part("x", 0, "a"), part("x", 1, "b", true)]],
    ["another scope", "invalid_params", [part("x", 0, "a"), { ...part("x", 1, "b", true), scope: "u/c" }]],
    ["another hash", "invalid_params", [part("x", 0, "abc", true, { ref: refOf("abd") })]],
    ["another size", "invalid_params", [part("x", 0, "abc", true, { size: 4 })]],
    ["not base64", "invalid_params", [{ ...part("x", 0, ""), data: "a b=" }, part("x", 1, "b", true)]],
    ["base64 of another alphabet", "invalid_params", [{ ...part("x", 0, "", true), data: "_-8=" }]],
    ["padding in the middle", "invalid_params", [{ ...part("x", 0, "", true), data: "YQ==YQ==" }]],
    ["an empty part", "invalid_params", [part("x", 0, "a"), part("x", 1, ""), part("x", 2, "b", true)]],
    ["a size over the limit", "too_large", [part("x", 0, "a", false, { size: 2 ** 40 }), part("x", 1, "b", true)]],
    ["a part over the limit", "too_large", [{ ...part("x", 0, ""), data: "A".repeat(1_048_580) }]],
    ["neither bytes nor a ref", "invalid_event", [{ event_type: "bb_blob", id: "x", scope: "u" }]],
    ["bytes without a place", "invalid_event", [{ event_type: "bb_blob", id: "x", scope: "u", data: "YQ==" }]],
  ];
  for (const [what, code, events] of tries) {
    const before = ui.got.length;
    await ui.send(...events);
    assert.deepEqual(
      ui.got.slice(before).map((event) => [event["in_reply_to"], event["code"]]),
      [[events[0]!["id"], code]],
      what,
    );
    assert.equal(world.blobs.bytes(), 0, what);
  }
  await ui.send(part("x", 0, "after all that", true));
  assert.deepEqual(codes(ui, "x").at(-1), refOf("after all that"));
  await world.end();
});

test("nobody puts a blob to another's scope, or gets one by knowing its hash (BLB-6, SCP-7, hard case 36)", async () => {
  const world = new World();
  const a = await world.join("ui", { name: "a", scopes: ["a"] });
  const b = await world.join("ui", { name: "b", scopes: ["b"] });
  const ref = refOf("secret");
  await a.send({ ...part("p", 0, "secret", true), scope: "a" });
  const unknown = refOf("nothing");
  await b.send({ ...part("put", 0, "x", true), scope: "a" });
  assert.deepEqual(codes(b, "put"), ["not_found"]);
  const both = await world.join("ui", { name: "both", scopes: ["*"] });
  await both.send(wish("o", ref, "a/c"), wish("c", ref, "a/~child"), wish("t", ref, "a"));
  assert.deepEqual(
    ["o", "c", "t"].map((id) => codes(both, id)[0]),
    ["not_found", ref, ref],
    "another cell of the tenant has it not, a child conversation of the cell has",
  );
  await b.send(wish("w1", ref, "b"), wish("w2", unknown, "b"), wish("w3", ref, "a"), wish("w4", unknown, "zzz"));
  const messages = ["w1", "w2", "w3", "w4"].map((id) => about(b, id)[0]!);
  assert.deepEqual(
    messages.map(({ code }) => code),
    Array(4).fill("not_found"),
  );
  assert.equal(String(messages[0]!["message"]).replace(ref, unknown), messages[1]!["message"]);
  assert.equal(String(messages[2]!["message"]).replace('"a"', '"zzz"'), messages[3]!["message"]);
  await world.end();
});

test("an upload that its sender leaves lying is given up, and its memory returns (BLB-4)", async () => {
  const world = new World({ limits: { blobIdleMs: 1000 } });
  const ui = await world.join("ui");
  const large = "x".repeat(400_000);
  await ui.send(part("lies", 0, large), part("goes_on", 0, large));
  assert.ok(world.blobs.bytes() > 300_000);
  await world.pass(600);
  await ui.send(part("goes_on", 1, "y"));
  await world.pass(600);
  assert.deepEqual([codes(ui, "lies"), codes(ui, "goes_on")], [["timeout"], []]);
  await ui.send(part("lies", 1, "late", true));
  assert.deepEqual(codes(ui, "lies"), ["timeout"]);
  await ui.send({ event_type: "bb_error", in_reply_to: "goes_on", code: "cancelled", message: "no", retryable: false });
  assert.equal(world.blobs.bytes(), 0, "its sender said so");
  await ui.send(part("gone", 0, large));
  assert.ok(world.blobs.bytes() > 300_000);
  await ui.link.close("killed");
  await world.settle();
  assert.equal(world.blobs.bytes(), 0, "its sender is gone");
  await world.end();
});

test("so many blobs at once and no more, so large and no larger; a later one passes (BLB-4)", async () => {
  const world = new World({ limits: { blobTransfers: 2, blobBytes: 10 } });
  const ui = await world.join("ui");
  assert.equal((ui.last("bb_sync_ack")["limits"] as { blob_bytes: number }).blob_bytes, 10);
  await ui.send(part("a", 0, "1"), part("b", 0, "2"), part("c", 0, "3"), part("c", 1, "3", true));
  assert.deepEqual(codes(ui, "c"), ["overloaded"]);
  assert.equal(about(ui, "c")[0]!["retryable"], true);
  await ui.send(part("a", 1, "123456789", true), part("b", 1, "1234567890"));
  assert.deepEqual([codes(ui, "a"), codes(ui, "b")], [[refOf("1123456789")], ["too_large"]]);
  await ui.send(part("c", 0, "again", true));
  assert.equal(codes(ui, "c").at(-1), refOf("again"));
  await world.end();
});

test("a tenant whose blobs are over its quota is told so, and another does not notice (BLB-4)", async () => {
  const blobs = new MemoryBlobs({ tenantBytes: 500_000 });
  const world = new World({ blobs });
  const ui = await world.join("ui");
  const large = (fill: string): string => fill.repeat(300_000);
  await ui.send(part("a", 0, large("a"), true), part("b", 0, large("b"), true));
  await ui.send({ ...part("c", 0, large("c"), true), scope: "v" });
  assert.deepEqual([codes(ui, "a"), codes(ui, "b")], [[refOf(large("a"))], ["overloaded"]]);
  assert.deepEqual(codes(ui, "c"), [refOf(large("c"))]);
  const before = blobs.bytes("u");
  await ui.send(part("again", 0, large("a").slice(0, 100_000)), part("again", 1, large("a").slice(0, 200_000), true));
  assert.equal(blobs.bytes("u"), before, "the same bytes are kept once");
  await world.end();
});

test("a quarter of a million tiny parts cost no more than what is in them (BLB-4)", async () => {
  const world = new World();
  world.stopWatching();
  const ui = await world.join("ui");
  const data = base64("x");
  const count = 250_000;
  globalThis.gc?.();
  const before = process.memoryUsage().heapUsed;
  for (let number = 0; number < count; number++) {
    ui.link.send({ event_type: "bb_blob", id: "b", scope: "u", part: number, last: number === count - 1, data });
    if (number % 1000 === 0) await turnOfTheLoop();
  }
  await world.settle();
  assert.deepEqual(codes(ui, "b"), [refOf("x".repeat(count))]);
  assert.ok(world.blobs.bytes() < count * 1.01);
  globalThis.gc?.();
  assert.ok(process.memoryUsage().heapUsed - before < 100 * 1024 * 1024);
  await world.end();
});

test("telemetry sees that a blob came and went, never its bytes (BLB-8)", async () => {
  const world = new World();
  const watching = await world.join("telemetry", { content: true });
  const ui = await world.join("ui");
  await ui.send(part("b", 0, "secret bytes", true));
  await ui.send(wish("d", refOf("secret bytes")));
  const seen = watching.all("bb_blob");
  assert.deepEqual(
    seen.map(({ id, in_reply_to, ref, size }) => [id ?? in_reply_to, ref, size]),
    [
      ["b", refOf("secret bytes"), 12],
      ["d", refOf("secret bytes"), 12],
    ],
  );
  assert.ok(!JSON.stringify(watching.got).includes(base64("secret bytes")));
  await world.end();
});

test("in one process and over HTTP the same checks stand before a stream (BLB-3, BLB-6)", async () => {
  const world = new World();
  await world.join("ui", { name: "a", scopes: ["a"] });
  const id = (world.hub as unknown as { open: Map<string, unknown> }).open.keys().next().value!;
  const { blobs } = world.hub;
  const bytes = Buffer.from("streamed");
  async function* stream(): AsyncGenerator<Uint8Array> {
    for (const byte of bytes) yield Buffer.of(byte);
  }
  const block = await blobs.put(id, "a/c", refOf(bytes), stream(), { mimeType: "text/plain", size: bytes.length });
  assert.deepEqual(block, { type: "blob", ref: refOf(bytes), mime_type: "text/plain", size: bytes.length });
  const got = await blobs.get(id, "a/c", block.ref);
  const pieces: Uint8Array[] = [];
  for await (const piece of got.stream) pieces.push(piece);
  assert.deepEqual([Buffer.concat(pieces), got.size, got.mimeType], [bytes, bytes.length, "text/plain"]);
  const held = world.blobs.bytes();
  await assert.rejects(blobs.put(id, "a", refOf("other"), stream()), { code: "invalid_params" });
  await assert.rejects(blobs.put(id, "b", undefined, stream()), { code: "not_found" });
  await assert.rejects(blobs.put(id, "a/..", undefined, stream()), { code: "not_found" });
  await assert.rejects(blobs.get(id, "b", block.ref), { code: "not_found" });
  await assert.rejects(blobs.get(id, "a", block.ref), { code: "not_found" });
  await assert.rejects(blobs.get("nobody", "a/c", block.ref), { code: "not_synced" });
  await assert.rejects(blobs.put(id, "a", undefined, stream(), { signal: AbortSignal.abort() }), { code: "cancelled" });
  await assert.rejects(blobs.put(id, "a", undefined, stream(), { size: 2 ** 40 }), { code: "too_large" });
  assert.equal(world.blobs.bytes(), held, "what was refused left nothing");
  await world.end();
});
