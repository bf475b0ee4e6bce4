import assert from "node:assert/strict";
import { test } from "node:test";
import { cutAfter, goOn, restarted } from "./restart.ts";
import { inferResult, message, textChunks, World, type Peer } from "./world.ts";

const input = [
  { scope: "*", mode: "refuse" as const },
  { scope: "u_1", mode: "steer" as const },
  { scope: "u_1/c_2", mode: "replace" as const },
];

const fates = (ui: Peer) => ui.all("bb_ack").map(({ fate }) => fate);

async function finish(infer: Peer): Promise<void> {
  for (const request of infer.all("bb_infer_request"))
    await infer.send(...textChunks(request, "ok"), inferResult(request));
}

test("input without a mode goes by the last rule that encloses its scope, and shows the mode it went by (INP-5)", async () => {
  const world = new World({ input });
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  for (const scope of ["u_2", "u_1", "u_1/c_1", "u_1/c_2"]) {
    await ui.send(message("first", scope, { id: `a_${scope}` }), message("then", scope, { id: `b_${scope}` }));
    await ui.send(message("at last", scope, { id: `c_${scope}`, mode: "queue" }));
  }
  assert.deepEqual(fates(ui), [
    ...["started", "refused", "queued"],
    ...["started", "steering", "queued"],
    ...["started", "steering", "queued"],
    ...["started", "queued", "queued"],
  ]);
  assert.deepEqual(
    ui.all("user_event").map(({ scope, text, mode }) => [scope, text, mode].join(" ")),
    [
      ...["u_2 first refuse", "u_2 at last queue"],
      ...["u_1 first steer", "u_1 then steer", "u_1 at last queue"],
      ...["u_1/c_1 first steer", "u_1/c_1 then steer", "u_1/c_1 at last queue"],
      ...["u_1/c_2 first replace", "u_1/c_2 then replace", "u_1/c_2 at last queue"],
    ],
  );
  assert.deepEqual(
    infer.all("bb_cancel").map(({ scope }) => scope),
    ["u_1/c_2"],
    "replace interrupts the turn that runs",
  );
  await finish(infer);
  for (let round = 0; round < 3; round++) await finish(infer);
  await world.end();
});

test("without a rule for its scope input waits its turn, and nothing is said of a mode (INP-3, INP-5)", async () => {
  const world = new World({ input: [{ scope: "u_1", mode: "steer" }] });
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  await ui.send(message("first", "u_10", { id: "a" }), message("then", "u_10", { id: "b" }));
  assert.deepEqual(fates(ui), ["started", "queued"]);
  assert.ok(ui.all("user_event").every((event) => !("mode" in event)));
  for (let round = 0; round < 2; round++) await finish(infer);
  await world.end();
});

test("who has another id with each connection is known by its name and what it sent: it runs once, after a restart too (ENV-3, REC-3, hard case 21)", async () => {
  const before = new World();
  const infer = await before.join("infer");
  const page = { name: "page", passing: "page" };
  const tab = await before.join("ui", { ...page, componentId: "page-1" });
  const said = message("hello", "u_1", { id: "a" });
  await tab.send(said);
  await finish(infer);
  await tab.link.close("the network went");
  const again = await before.join("ui", { ...page, componentId: "page-2" });
  await again.send(said);
  assert.deepEqual(again.last("bb_ack")["seq"], tab.last("bb_ack")["seq"]);
  const entries = await before.entries();
  await before.end();

  const after = await restarted(await cutAfter(entries, entries.length));
  await goOn(after);
  const model = await after.join("infer");
  const back = await after.join("ui", { ...page, componentId: "page-3" });
  await back.send(said);
  await after.settle();
  assert.equal(back.last("bb_ack")["seq"], tab.last("bb_ack")["seq"]);
  assert.equal(model.all("bb_infer_request").length, 0);
  // Another tab, another component whose name begins so, and one whose id is its own: what they send is theirs.
  await back.send(message("mine", "u_1", { id: "a" }));
  const other = await after.join("ui", { name: "pa", passing: "pa", componentId: "pa-1" });
  await other.send(said);
  const fixed = await after.join("ui", { name: "page-4" });
  await fixed.send(said);
  assert.deepEqual([...fates(back).slice(1), ...fates(other), ...fates(fixed)], ["started", "queued", "queued"]);
  for (let turn = 0; turn < 3; turn++) await finish(model);
  await after.end();
});

test("who asked for a turn and is connected again under another id gets its answer there (ENV-3)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const page = { name: "page", passing: "page", controller: true };
  const tab = await world.join("ui", { ...page, componentId: "page-1" });
  const ask = { event_type: "bb_turn_request", id: "t1", scope: "u_1", content: "hello" };
  await tab.send(ask);
  await tab.link.close("the network went");
  await world.settle();
  const back = await world.join("ui", { ...page, componentId: "page-2" });
  await back.send(ask);
  await finish(infer);
  assert.equal(infer.all("bb_infer_request").length, 1);
  assert.equal(back.last("bb_turn_result")["in_reply_to"], "t1");
  await world.end();
});

test("an input that is sent again is the same input, after a restart with other rules too (INP-5, ENV-3, REC-3)", async () => {
  const before = new World({ input });
  const infer = await before.join("infer");
  const ui = await before.join("ui");
  const said = message("then", "u_1", { id: "b" });
  await ui.send(message("first", "u_1", { id: "a" }), said, said);
  assert.deepEqual(fates(ui), ["started", "steering", "steering"]);
  await ui.send({ ...said, text: "something else" });
  assert.equal(ui.last("bb_error")["code"], "conflict");
  await finish(infer);
  await finish(infer);
  const entries = await before.entries();
  await before.end();

  const after = await restarted(await cutAfter(entries, entries.length));
  await goOn(after);
  const back = await after.join("ui");
  await back.send(said);
  await after.settle();
  assert.deepEqual(fates(back), ["steering"]);
  await back.send({ ...said, text: "something else" });
  await after.settle();
  assert.equal(back.last("bb_error")["code"], "conflict");
  await after.end();
});
