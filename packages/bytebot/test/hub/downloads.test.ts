import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { MemoryBlobs, type StoredBlob } from "../../src/log/index.ts";
import type { Event } from "../../src/wire/index.ts";
import { World, type Peer } from "./world.ts";

/** A store that answers when a test says so. */
class HeldBlobs extends MemoryBlobs {
  held = false;
  private readonly holding: (() => void)[] = [];

  override async find(cell: string, ref: string): Promise<StoredBlob | undefined> {
    if (this.held) await new Promise<void>((resolve) => this.holding.push(resolve));
    return super.find(cell, ref);
  }

  release(): void {
    this.held = false;
    for (const resolve of this.holding.splice(0)) resolve();
  }
}

const wish = (id: string, ref: string): Event => ({ event_type: "bb_blob", id, scope: "u", ref });
const about = (peer: Peer, id: string): Event[] => peer.got.filter((event) => event["in_reply_to"] === id);

/** A world with a blob of so many bytes. */
async function keeping(bytes: number): Promise<{ world: World; store: HeldBlobs; ui: Peer; ref: string }> {
  const store = new HeldBlobs();
  const world = new World({ blobs: store, limits: { blobTransfers: 2 } });
  const ui = await world.join("ui");
  const whole = Buffer.alloc(bytes, "0123456789abcdefg");
  for (let at = 0, part = 0; at < bytes; at += 300_000, part++) {
    const data = whole.subarray(at, at + 300_000).toString("base64");
    await ui.send({ event_type: "bb_blob", id: "up", scope: "u", part, last: at + 300_000 >= bytes, data });
  }
  return { world, store, ui, ref: `sha256-${createHash("sha256").update(whole).digest("hex")}` };
}

test("so many blobs go out at once at a connection and no more, each under an id of its own (BLB-4, BLB-5)", async () => {
  const { world, store, ui, ref } = await keeping(1000);
  store.held = true;
  await ui.send(wish("a", ref), wish("a", ref));
  assert.deepEqual(
    about(ui, "a").map(({ code }) => code),
    ["conflict"],
  );
  await ui.send(wish("b", ref), wish("c", ref));
  assert.deepEqual(
    about(ui, "c").map(({ code, retryable }) => [code, retryable]),
    [["overloaded", true]],
  );
  store.release();
  await world.settle();
  assert.deepEqual([about(ui, "a").at(-1)?.["last"], about(ui, "b").at(-1)?.["last"]], [true, true]);
  await ui.send(wish("c", ref));
  assert.equal(about(ui, "c").at(-1)?.["last"], true, "there is room again");
  await world.end();
});

test("whoever wants no more of a blob, or leaves, is sent no more of it (BLB-5, CON-7)", async () => {
  const { world, store, ui, ref } = await keeping(5_000_000);
  const error = { event_type: "bb_error", code: "cancelled", message: "enough", retryable: false };
  store.held = true;
  await ui.send(wish("a", ref), { ...error, in_reply_to: "a" });
  store.release();
  await world.settle();
  assert.deepEqual(about(ui, "a"), [], "given up before it began");
  ui.link.send(wish("b", ref));
  for (let turns = 0; turns < 100 && about(ui, "b").length === 0; turns++) await world.settle();
  await ui.send({ ...error, in_reply_to: "b" });
  const so_far = about(ui, "b").length;
  for (let turns = 0; turns < 20; turns++) await world.settle();
  assert.ok(so_far > 0 && about(ui, "b").length === so_far && about(ui, "b").at(-1)!["last"] === false);
  store.held = true;
  await ui.send(wish("c", ref));
  await ui.link.close("left");
  store.release();
  for (let turns = 0; turns < 20; turns++) await world.settle();
  assert.deepEqual(about(ui, "c"), []);
  const back = await world.join("ui");
  await back.send(wish("d", ref));
  await back.link.close("left");
  for (let turns = 0; turns < 20; turns++) await world.settle();
  await world.end();
});

test("a Hub that closes while blobs are on their way ends them, and keeps no timer (BLB-4, BLB-5)", async () => {
  const { world, ui, ref } = await keeping(5_000_000);
  ui.link.send(wish("a", ref));
  ui.link.send({ event_type: "bb_blob", id: "half", scope: "u", part: 0, last: false, data: "YWJj" });
  for (let turns = 0; turns < 100 && about(ui, "a").length === 0; turns++) await world.settle();
  await world.end({ finished: false });
  assert.equal(about(ui, "a").at(-1)!["last"], false);
});

test("a blob that names no transfer or no scope is refused (BLB-2)", async () => {
  const { world, ui, ref } = await keeping(10);
  await ui.send({ event_type: "bb_blob", scope: "u", ref }, { event_type: "bb_blob", id: "a", ref });
  assert.deepEqual(
    ui.all("bb_error").map(({ code, in_reply_to }) => [code, in_reply_to]),
    [
      ["invalid_event", undefined],
      ["invalid_event", "a"],
    ],
  );
  await world.end();
});

test("an upload whose sender leaves while the store takes it in is nobody's mistake (BLB-3, CON-7)", async () => {
  const { world, ui } = await keeping(10);
  await ui.send({ event_type: "bb_blob", id: "a", scope: "u", part: 0, last: false, data: "YWJj" });
  ui.link.send({ event_type: "bb_blob", id: "a", scope: "u", part: 1, last: true, data: "" });
  ui.link.send({
    event_type: "bb_blob",
    id: "b",
    scope: "u",
    part: 0,
    last: true,
    data: "YWJj",
    ref: `sha256-${"0".repeat(64)}`,
  });
  void ui.link.close("left");
  for (let turns = 0; turns < 20; turns++) await world.settle();
  assert.equal(world.reports.length, 0);
  const back = await world.join("ui");
  await back.send({ event_type: "bb_blob", id: "a", scope: "u", part: 0, last: true, data: "YWJj" });
  assert.equal(about(back, "a").at(-1)!["size"], 3);
  await world.end();
});
