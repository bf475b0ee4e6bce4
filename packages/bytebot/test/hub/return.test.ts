import assert from "node:assert/strict";
import { test } from "node:test";
import { inferResult, message, textChunks, toolChunks, World, type Peer } from "./world.ts";

async function lose(world: World, peer: Peer): Promise<void> {
  await peer.link.close("crashed");
  await world.settle();
}
const error = (ui: Peer): string =>
  String((ui.last("infer_chunk")["error"] as { message?: string } | undefined)?.message);

test("a turn whose infer crashed waits for its return, and no attempt is used up meanwhile (TRN-11, TRN-7)", async () => {
  const world = new World();
  const first = await world.join("infer");
  const ui = await world.join("ui");
  await ui.send(message("go"));
  await first.send(textChunks(first.last("bb_infer_request"), "half")[0]!);
  await lose(world, first);
  await world.pass(20_000);
  assert.equal(ui.all("infer_chunk").at(-1)?.["kind"], "block_start", "it has not ended");
  const back = await world.join("infer");
  const request = back.last("bb_infer_request");
  assert.equal(request["attempt"], 1);
  await back.send(...textChunks(request, "all of it"), inferResult(request));
  assert.equal(ui.last("infer_chunk")["stop_reason"], "end_turn");
  await world.end();
});

test("input that comes while the infer is being started again is answered when it is back (TRN-11)", async () => {
  const world = new World();
  const first = await world.join("infer");
  const ui = await world.join("ui");
  await lose(world, first);
  await ui.send(message("one", "u"), message("two", "v"));
  await world.pass(29_000);
  const back = await world.join("infer");
  assert.deepEqual(
    back.all("bb_infer_request").map(({ scope }) => scope),
    ["u", "v"],
  );
  for (const request of back.all("bb_infer_request")) await back.send(inferResult(request));
  await world.end();
});

test("an infer that does not return in time ends the turn as unavailable, and so does the next at once (TRN-11)", async () => {
  const world = new World();
  const first = await world.join("infer");
  const ui = await world.join("ui");
  await lose(world, first);
  await ui.send(message("one"));
  await world.pass(30_000);
  assert.match(error(ui), /the infer was lost and is not back within 30 s/);
  await ui.send(message("two"));
  assert.match(error(ui), /no infer component is attached/);
  await world.end();
});

test("an infer that was detached or left alone is not waited for (TRN-11)", async () => {
  const world = new World();
  const first = await world.join("infer");
  const ui = await world.join("ui");
  await lose(world, first);
  await ui.send(message("one"));
  assert.equal(ui.all("infer_chunk").length, 0);
  world.hub.forget("infer");
  await world.settle();
  assert.match(error(ui), /no infer component is attached/);
  await world.end();
});

test("an interrupt ends a turn that waits for its infer, and another infer takes over where one is there (TRN-11, INT-4)", async () => {
  const world = new World();
  const first = await world.join("infer");
  const ui = await world.join("ui");
  await lose(world, first);
  await ui.send(message("one"));
  await ui.send({ event_type: "interrupt", scope: "u" });
  assert.equal(ui.last("infer_chunk")["stop_reason"], "interrupted");
  const other = await world.join("infer", { name: "other" });
  await ui.send(message("two"));
  await other.send(inferResult(other.last("bb_infer_request")));
  assert.equal(ui.last("infer_chunk")["stop_reason"], "end_turn");
  await world.end();
});

const UNUSABLE: [string, RegExp][] = [
  ['{"n": 9007199254740993}', /"n" is beyond 2\^53-1: send it as a string/],
  ['{"a\\\\b": 1}', /a key in content holds a backslash/],
  ['{"__proto__": 1}', /the key "__proto__" in content is not allowed/],
  ['{"path": ', /they are not valid JSON/],
];
for (const [text, why] of UNUSABLE) {
  test(`the model is told what is wrong with the arguments ${text} (CHK-6, FRM-7)`, async () => {
    const world = new World();
    const infer = await world.join("infer");
    const ui = await world.join("ui");
    await ui.send(message("go"));
    const request = infer.last("bb_infer_request");
    const [start, delta, stop] = toolChunks(request, "read", {});
    await infer.send(start!, { ...delta!, delta: text }, stop!, inferResult(request, "tool_use"));
    assert.match(JSON.stringify(infer.last("bb_infer_request")["messages"]).replaceAll('\\"', '"'), why);
    await infer.send(inferResult(infer.last("bb_infer_request")));
    await world.end();
  });
}
