import assert from "node:assert/strict";
import { setImmediate as turnOfTheLoop } from "node:timers/promises";
import { test } from "node:test";
import { MemoryLog, type NewEntry, type Place } from "../../src/log/index.ts";
import type { Event } from "../../src/wire/index.ts";
import { inferResult, message, World, type Peer } from "./world.ts";

/** A log that answers no append until it is let. */
class HeldLog extends MemoryLog {
  private readonly holding: (() => void)[] = [];
  isHeld = false;

  override async append(cell: string, expected: number, entry: NewEntry): Promise<Place> {
    if (this.isHeld) await new Promise<void>((resolve) => this.holding.push(resolve));
    return super.append(cell, expected, entry);
  }

  release(): void {
    this.isHeld = false;
    for (const resolve of this.holding.splice(0)) resolve();
  }
}

const deltasOf = (ui: Peer): Event[] => ui.all("infer_chunk").filter(({ kind }) => kind === "block_delta");

/** A turn whose first block is being logged while so many deltas come, of these blocks one after the other. */
async function gathered(
  count: number,
  blocks: readonly number[],
): Promise<{ world: World; infer: Peer; ui: Peer; log: HeldLog }> {
  const log = new HeldLog();
  const world = new World({ log });
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  await ui.send(message("go"));
  await world.settle();
  const of = { event_type: "infer_chunk", in_reply_to: infer.last("bb_infer_request")["id"] };
  log.isHeld = true;
  await infer.send(...blocks.map((index) => ({ ...of, kind: "block_start", index, block_type: "text" })), {
    ...of,
    kind: "block_stop",
    index: 9,
    block: { type: "text", text: "first" },
  });
  for (let n = 0; n < count; n++) {
    const index = blocks[n % blocks.length]!;
    infer.link.send({ ...of, kind: "block_delta", index, block_type: "text", delta: `${n} ` });
  }
  await world.settle();
  assert.equal(deltasOf(ui).length, 0, "they wait for what came before them");
  return { world, infer, ui, log };
}

async function ended({ world, infer, ui }: { world: World; infer: Peer; ui: Peer }): Promise<void> {
  await infer.send(inferResult(infer.last("bb_infer_request")));
  for (let turn = 0; turn < 1000 && !ui.got.some(({ state }) => state === "idle"); turn++) await turnOfTheLoop();
  await world.end();
}

test("deltas that wait for the log leave as few, their text whole and each n accounted for (CHK-7, LOG-3)", async () => {
  const { world, infer, ui, log } = await gathered(20_000, [0]);
  log.release();
  await world.settle();
  await ended({ world, infer, ui });
  const deltas = deltasOf(ui);
  assert.ok(deltas.length < 20, `${deltas.length} deltas`);
  let next = 2; // after the start and the first block
  for (const { n, merged = 1 } of deltas) assert.equal(n, (next += Number(merged)) - 1);
  const text = Array.from({ length: 20_000 }, (_, n) => `${n} `).join("");
  assert.equal(deltas.map(({ delta }) => delta).join(""), text);
  const block = ui.all("infer_chunk").find(({ kind, index }) => kind === "block_stop" && index === 0)!["block"];
  assert.deepEqual(block, { type: "text", text });
});

test("what says of itself that it is merged, or looks like a delta, joins nothing (CHK-2, CHK-7, TRN-6)", async () => {
  const { world, infer, ui, log } = await gathered(1, [0]);
  const { id: in_reply_to, loop_id } = infer.last("bb_infer_request");
  const delta = { kind: "block_delta", index: 0, block_type: "text", delta: "forged " };
  const place = { loop_id, round: 0, attempt: 0 };
  await ui.send({ event_type: "com.example/delta", scope: "u", ...delta, ...place, n: 2, merged: 3 });
  await infer.send({ event_type: "infer_chunk", in_reply_to, ...delta, delta: "true", merged: 3 });
  log.release();
  await world.settle();
  assert.deepEqual(
    deltasOf(ui).map(({ delta: text, n, merged }) => [text, n, merged]),
    [
      ["0 ", 2, undefined],
      ["true", 3, undefined],
    ],
  );
  assert.equal(ui.last("com.example/delta")["delta"], "forged ");
  await ended({ world, infer, ui });
});

test("what cannot be joined leaves in its order, and others have their turn between (LOG-3)", async () => {
  const { world, infer, ui, log } = await gathered(20_000, [0, 1]);
  log.release();
  let most = 0;
  for (let before = 0; before < 20_000;) {
    await turnOfTheLoop();
    const { length } = deltasOf(ui);
    most = Math.max(most, length - before);
    before = length;
  }
  assert.ok(most < 1000, `${most} in one turn of the event loop`);
  await ended({ world, infer, ui });
  assert.deepEqual(
    deltasOf(ui).map(({ n }) => n),
    Array.from({ length: 20_000 }, (_, n) => n + 3),
  );
});

test("a result that ends a thousand blocks at once is logged and shown in its order, and others have their turn between (TRN-4, LOG-3)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  await ui.send(message("go"));
  const request = infer.last("bb_infer_request");
  const of = { event_type: "infer_chunk", in_reply_to: request["id"], kind: "block_start" };
  for (let index = 0; index < 1024; index++) {
    infer.link.send({ ...of, index, block_type: "tool_use", name: "none" });
    if (index % 256 === 255) await world.settle();
  }
  infer.link.send(inferResult(request, "tool_use"));
  let most = 0;
  for (let before = ui.got.length; !ui.got.some(({ state }) => state === "idle");) {
    await turnOfTheLoop();
    most = Math.max(most, ui.got.length - before);
    before = ui.got.length;
  }
  assert.ok(most < 1500, `${most} in one turn of the event loop`);
  const stops = ui.all("infer_chunk").filter(({ kind }) => kind === "block_stop");
  assert.deepEqual(
    stops.map(({ index }) => index),
    Array.from({ length: 1024 }, (_, index) => index),
  );
  const seqs = ui.got.flatMap(({ seq }) => (typeof seq === "number" ? [seq] : []));
  assert.deepEqual(
    seqs,
    seqs.toSorted((a, b) => a - b),
  );
  assert.equal(ui.all("tool_result").length, 1024);
  await world.end();
});
