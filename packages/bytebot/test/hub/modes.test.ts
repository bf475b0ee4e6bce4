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
