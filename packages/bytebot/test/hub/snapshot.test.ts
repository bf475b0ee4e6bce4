import assert from "node:assert/strict";
import { test } from "node:test";
import type { Event } from "../../src/wire/index.ts";
import { inferResult, message, register, textChunks, toolChunks, toolResult, World, type Peer } from "./world.ts";

type State = { messages: unknown[]; open: Event[]; more: boolean };

/** What a reader of everything is shown of the newest base of this scope. */
async function snapshotOf(world: World, scope: string): Promise<State> {
  const reader = await world.join("ui", { name: `reader of ${scope}`, scopes: [scope] }, { resume: "start" });
  for (let turn = 0; turn < 1000 && reader.all("bb_live").length === 0; turn++) await world.settle();
  const found = reader.all("bb_snapshot").filter((event) => event["scope"] === scope);
  assert.ok(found.length > 0, `a snapshot of ${scope}`);
  return found.at(-1)!["state"] as State;
}

async function answer(infer: Peer, text: string): Promise<void> {
  const request = infer.last("bb_infer_request");
  await infer.send(...textChunks(request, text), inferResult(request));
}

test("a snapshot holds the child conversations in which something goes on, beside their parent's (RPL-7, LOG-5)", async () => {
  const world = new World({ retention: { events: 4, bytes: Infinity } });
  const infer = await world.join("infer");
  const tools = await world.join("toolsource");
  const ui = await world.join("ui");
  await tools.send(register("read"));
  await ui.send(message("go"));
  const request = infer.last("bb_infer_request");
  await infer.send(...toolChunks(request, "read", {}), inferResult(request, "tool_use"));
  const { call_id } = tools.last("bb_tool_call_request");
  const child = (id: string): Event => ({
    event_type: "bb_turn_request",
    id,
    scope: "u/~child",
    call_id,
    content: `${id}, please`,
  });
  await tools.send(child("t1"), child("t2"), child("t3"), child("t4"), child("t5"), child("t6"));
  const inner = infer.last("bb_infer_request");
  await infer.send(...textChunks(inner, "far", 3));
  for (let n = 7; n < 40; n++) await tools.send(child(`t${n}`));
  const { open, messages } = await snapshotOf(world, "u/~child");
  assert.equal(messages.length, 1);
  assert.deepEqual(
    open.flatMap(({ event_type, index, block }) => (event_type === "infer_chunk" ? [[index, block]] : [])),
    [[3, { type: "text", text: "far" }]],
    "whole blocks of the answer that comes, and nothing for those that are none",
  );
  assert.ok(open.some(({ event_type }) => event_type === "user_event"));
  const above = await snapshotOf(world, "u");
  assert.deepEqual(
    above.open.map(({ event_type }) => event_type),
    ["tool_call"],
  );
  await world.hub.close();
});

test("a snapshot has the newest of a long conversation, and says that there was more (RPL-7, LOG-5)", async () => {
  const world = new World({ retention: { events: 20, bytes: Infinity } });
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  for (let n = 0; n < 12; n++) {
    await ui.send(message(`${n} ${"x".repeat(200_000)}`));
    await answer(infer, `answer ${n}`);
  }
  const { messages, more } = await snapshotOf(world, "u");
  assert.equal(more, true);
  assert.ok(messages.length > 2 && JSON.stringify(messages).length < 1024 * 1024);
  assert.match(JSON.stringify(messages.at(-1)), /answer \d+/);
  await world.hub.close();
});

test("a call of the owner's own that runs is in a snapshot, of no loop (RPL-7, TOL-11)", async () => {
  const world = new World({ retention: { events: 6, bytes: Infinity } });
  const infer = await world.join("infer");
  const tools = await world.join("toolsource");
  const ui = await world.join("ui", { owner: true }, { owner: true });
  await tools.send(register("read"));
  await ui.send({ event_type: "bb_tool_call_request", id: "q", scope: "u", name: "read", input: {} });
  for (let n = 0; n < 12; n++) {
    await ui.send(message(`question ${n}`));
    await answer(infer, "yes");
  }
  const { open } = await snapshotOf(world, "u");
  assert.deepEqual(
    open.map(({ event_type, name, loop_id }) => [event_type, name, loop_id]),
    [["tool_call", "read", undefined]],
  );
  await tools.send(toolResult(tools.last("bb_tool_call_request"), "x"));
  await world.hub.close();
});

test("what comes to an end before its cell is full leaves nothing to stand for it, and the log goes on (LOG-5)", async () => {
  const world = new World({ retention: { events: 3, bytes: Infinity } });
  const infer = await world.join("infer");
  const owner = await world.join("ui", { owner: true }, { owner: true });
  for (let n = 0; n < 8; n++)
    await owner.send({ event_type: "bb_turn_request", id: `t${n}`, scope: "u/~aside", content: `question ${n}` });
  for (let n = 0; n < 8; n++) await answer(infer, "yes");
  assert.equal(owner.all("bb_turn_result").length, 8);
  await world.hub.close();
});

test("a scope, and what is below it, may keep more or less than the others (LOG-5)", async () => {
  const scopes = { acme: { events: 4 }, "acme/kept": { events: Infinity } };
  const world = new World({ retention: { events: 1000, bytes: Infinity, scopes } });
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  for (let turn = 0; turn < 12; turn++) {
    for (const scope of ["acme/x", "acme/kept", "other"]) {
      await ui.send(message(`${turn} in ${scope}`, scope));
      await answer(infer, "yes");
    }
  }
  const entries = await world.entries();
  const texts = (cell: string): unknown[] =>
    entries.flatMap((entry) => (entry.cell === cell ? entry.events : [])).flatMap(({ text }) => text ?? []);
  assert.ok(texts("acme/x").length < 8, `${texts("acme/x").length} are kept`);
  assert.equal(texts("acme/kept").length, 12);
  assert.equal(texts("other").length, 12);
  await world.hub.close();
});
