import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryLog, type NewEntry, type Place } from "../../src/log/index.ts";
import { BytebotError, type Event } from "../../src/wire/index.ts";
import { checkRecalled } from "./recalled.ts";
import { cutAfter, goOn, restarted } from "./restart.ts";
import { inferResult, message, World, type Peer } from "./world.ts";

/** A log of which one cell takes its time, or refuses. */
class SlowLog extends MemoryLog {
  slow: string | undefined;
  full: string | undefined;
  private readonly late: (() => void)[] = [];

  override append(cell: string, expected: number, entry: NewEntry): Place | Promise<Place> {
    if (cell === this.full) return Promise.reject(new BytebotError("unavailable", "disk full", { retryable: false }));
    if (cell !== this.slow) return super.append(cell, expected, entry);
    return new Promise<void>((resolve) => this.late.push(resolve)).then(() => super.append(cell, expected, entry));
  }

  release(): void {
    this.slow = undefined;
    for (const resolve of this.late.splice(0)) resolve();
  }
}

const stop: Event = { event_type: "interrupt", id: "s1", scope: "u", reason: "enough" };
const ends = (peer: Peer): string[] =>
  peer
    .all("infer_chunk")
    .filter(({ kind }) => kind === "loop_done")
    .map(({ scope, stop_reason }) => `${String(scope)} ${String(stop_reason)}`);
const acks = (peer: Peer): Event[] => peer.all("bb_ack").filter(({ in_reply_to }) => in_reply_to === "s1");

/** A turn in each of these scopes, whose infer does not stop by itself. */
async function running(world: World, ...scopes: string[]): Promise<{ infer: Peer; ui: Peer }> {
  const infer = await world.join("infer");
  infer.react = ({ event_type, target }) => {
    if (event_type !== "bb_cancel") return;
    const error = { code: "cancelled", message: "stopped", retryable: false };
    infer.link.send({ event_type: "bb_infer_result", in_reply_to: target, success: false, error });
  };
  const ui = await world.join("ui");
  for (const scope of scopes) await ui.send(message("go", scope));
  return { infer, ui };
}

test("an interrupt of several cells is acknowledged when the last of them has it, and then not forgotten by a restart (LOG-1, INT-6, ENV-3)", async () => {
  const log = new SlowLog();
  const before = new World({ log });
  const { ui } = await running(before, "u/a", "u/b", "u");
  log.slow = "u/a";
  await ui.send(stop, stop);
  for (let turn = 0; turn < 5; turn++) await before.settle();
  assert.deepEqual(ends(ui).sort(), ["u interrupted", "u/b interrupted"]);
  assert.deepEqual(acks(ui), [], "in one cell it has not happened yet");
  const early = await cutAfter(await before.entries(), Infinity);
  log.release();
  for (let turn = 0; turn < 5; turn++) await before.settle();
  assert.equal(ends(ui).length, 3);
  const [ack] = acks(ui);
  assert.equal(typeof ack?.["seq"], "number");
  await ui.send(stop);
  assert.equal(acks(ui).at(-1)?.["seq"], ack!["seq"]);
  checkRecalled(before.hub["core"], await before.entries(), new Set());
  assert.deepEqual(
    ui.all("interrupt").map(({ scope, id, reached }) => [scope, id, reached]),
    [
      ["u/b", undefined, undefined],
      ["u", undefined, undefined],
      ["u/a", undefined, undefined],
      ["u", "s1", ["u/a", "u/b", "u"]],
    ],
  );
  const whole = await cutAfter(await before.entries(), Infinity);
  await before.end();

  // Killed before the acknowledgement: nobody was told that it has happened, and sent again it does.
  const unsure = await restarted(early);
  await unsure.join("infer");
  const again = await unsure.join("ui");
  await goOn(unsure);
  await again.send(stop);
  await unsure.settle();
  assert.deepEqual(ends(again), ["u/a interrupted"]);
  assert.equal(acks(again).length, 1);
  await unsure.end({ finished: false });

  // Killed after it: it has happened, and what began since goes on.
  const sure = await restarted(whole);
  const infer = await sure.join("infer");
  const late = await sure.join("ui");
  await goOn(sure);
  await late.send(message("and now?", "u/a"), stop);
  assert.equal(acks(late)[0]?.["seq"], ack!["seq"]);
  await late.send({ ...stop, scope: "u/a", id: "s2" });
  assert.equal(late.all("bb_ack").at(-1)?.["in_reply_to"], "s2");
  await infer.send(inferResult(infer.last("bb_infer_request")));
  assert.deepEqual(ends(late), ["u/a interrupted"]);
  await sure.end();
});

test("an interrupt that one cell's log refuses is refused, and may be sent again (LOG-4, INT-6)", async () => {
  const log = new SlowLog();
  const world = new World({ log });
  const { infer, ui } = await running(world, "u/a", "u/b");
  log.full = "u/a";
  await ui.send(stop);
  for (let turn = 0; turn < 5; turn++) await world.settle();
  assert.deepEqual(acks(ui), []);
  assert.deepEqual([ui.last("bb_error")["code"], ui.last("bb_error")["in_reply_to"]], ["unavailable", "s1"]);
  log.full = undefined;
  await ui.send(message("more", "u/b"));
  await ui.send(stop);
  for (let turn = 0; turn < 5; turn++) await world.settle();
  assert.equal(acks(ui).length, 1);
  assert.equal(ends(ui).filter((end) => end === "u/b interrupted").length, 2);
  assert.equal(world.hub.counts()["wide"], 0);
  assert.ok(infer.all("bb_cancel").length >= 3);
  await world.hub.close();
});

test("an interrupt that stopped nothing is not another one when it is sent again later (ENV-3, REC-3, REC-7)", async () => {
  const before = new World({ limits: { idle: 1 } });
  const ui = await before.join("ui");
  await ui.send(stop);
  const { seq } = acks(ui)[0]!;
  const elsewhere = await running(before, "u/a", "v", "w");
  for (const request of elsewhere.infer.all("bb_infer_request").slice(1))
    await elsewhere.infer.send(inferResult(request));
  assert.equal(before.hub.counts()["conversations"], 2, "it has left the memory");
  await ui.send(stop);
  assert.equal(acks(ui).at(-1)?.["seq"], seq);
  assert.deepEqual(ends(ui), ["v end_turn", "w end_turn"], "what began since goes on");
  const log = await cutAfter(await before.entries(), Infinity);
  await before.hub.close();
  const world = await restarted(log);
  const infer = await world.join("infer");
  const late = await world.join("ui");
  await goOn(world);
  await world.pass(1000);
  await late.send(stop);
  assert.equal(acks(late)[0]?.["seq"], seq);
  await infer.send(inferResult(infer.last("bb_infer_request")));
  assert.deepEqual(ends(late), ["u/a end_turn"]);
  await world.end();
});

test("an interrupt that has something to stop is heard also where its tenant may have no more conversations (INT-6, QTA-7)", async () => {
  const world = new World({ quotas: { conversations: 2 } });
  const { ui } = await running(world, "u/a", "u/b");
  await ui.send({ event_type: "interrupt", scope: "u/x" }, { ...stop, scope: "u/x" });
  assert.deepEqual([ui.last("bb_error")["code"], ui.last("bb_error")["in_reply_to"]], ["overloaded", "s1"]);
  await ui.send(stop, stop);
  for (let turn = 0; turn < 5; turn++) await world.settle();
  assert.ok(acks(ui).length > 0);
  assert.deepEqual(ends(ui).sort(), ["u/a interrupted", "u/b interrupted"]);
  await ui.send(message("new", "u/c", { id: "m" }));
  assert.equal(ui.last("bb_error")["code"], "overloaded");
  await world.end();
});
