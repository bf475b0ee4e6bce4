import assert from "node:assert/strict";
import { test } from "node:test";
import type { Event } from "../../src/wire/index.ts";
import { inferResult, message, register, textChunks, toolChunks, toolResult, World, type Peer } from "./world.ts";

const cursors = (events: readonly Event[]): string[] =>
  events.flatMap(({ event_type, cursor }) => (typeof cursor === "string" && event_type !== "bb_live" ? [cursor] : []));
const types = (events: readonly Event[]): string[] =>
  events.map(({ event_type, kind, state }) => {
    if (event_type === "infer_chunk") return `infer_chunk ${String(kind)}`;
    return event_type === "scope_state" ? `scope_state ${String(state)}` : event_type;
  });

async function answer(infer: Peer, text: string): Promise<void> {
  const request = infer.last("bb_infer_request");
  await infer.send(...textChunks(request, text), inferResult(request));
}

/** Until this peer is live: a replay takes the turns of the event loop that it needs. */
async function live(world: World, peer: Peer): Promise<Peer> {
  for (let turn = 0; turn < 1000 && peer.all("bb_live").length === 0; turn++) await world.settle();
  assert.equal(peer.all("bb_live").length, 1, types(peer.got).join(", "));
  return peer;
}

test("a UI that returns is shown state and questions, then what it missed, then the open block, then what happens (RPL-3, RPL-6)", async () => {
  const world = new World({ policy: [{ tool: "*", decision: "ask" }] });
  const infer = await world.join("infer");
  const tools = await world.join("toolsource");
  await tools.send(register("read"));
  const ui = await world.join("ui");
  await ui.send(message("one"));
  await answer(infer, "first");
  const seen = String(ui.last("infer_chunk")["cursor"]);
  await ui.send(message("two"));
  await answer(infer, "second");
  await ui.send(message("three"));
  await ui.send(message("elsewhere", "v"));
  const [request, other] = infer.all("bb_infer_request").slice(-2) as [Event, Event];
  await infer.send(...toolChunks(request, "read", {}), inferResult(request, "tool_use"));
  await infer.send(...textChunks(other, "so far").slice(0, 2));

  const late = await live(world, await world.join("ui", { name: "late" }, { resume: [seen] }));
  const question = late.last("input_strict");
  await infer.send(textChunks(other, "so far")[2]!, inferResult(other));
  await late.send({ event_type: "input_reply", in_reply_to: question["id"], outcome: "accepted", value: "once" });
  assert.deepEqual(types(late.got).slice(1), [
    "scope_state running",
    "input_strict",
    "scope_state running",
    "user_event",
    "infer_chunk block_stop",
    "infer_chunk loop_done",
    "user_event",
    "user_event",
    "infer_chunk block_stop",
    "scope_state running",
    "scope_state running",
    "infer_chunk block_start",
    "infer_chunk block_delta",
    "bb_live",
    "infer_chunk block_stop",
    "infer_chunk loop_done",
    "scope_state idle",
    "input_resolved",
    "bb_ack",
    "tool_call",
  ]);
  const missed = cursors(ui.got).slice(cursors(ui.got).indexOf(seen) + 1);
  const asked = ui.last("input_strict");
  assert.deepEqual([question["seq"], question["cursor"]], [asked["seq"], undefined], "what is older is still to come");
  const others = missed.filter((cursor) => cursor !== asked["cursor"]);
  assert.deepEqual(cursors(late.got).toSorted(), others.toSorted(), "each durable event once");
  const [call] = tools.all("bb_tool_call_request") as [Event];
  await tools.send(toolResult(call, "read it"));
  await infer.send(inferResult(infer.last("bb_infer_request")));
  await world.end();
});

test("without resume nothing old is sent; start is everything of the grant and the types, to telemetry as it was copied then (RPL-3, RPL-6)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const tools = await world.join("toolsource");
  await tools.send(register("read"));
  const ui = await world.join("ui");
  const copies = await world.join("telemetry", { name: "copies", content: true });
  await ui.send(message("one"));
  const request = infer.last("bb_infer_request");
  await infer.send(...toolChunks(request, "read", {}), inferResult(request, "tool_use"));
  await tools.send(toolResult(tools.last("bb_tool_call_request"), "read it"));
  await answer(infer, "done");
  await ui.send(message("two", "v"));
  await answer(infer, "done");
  const none = await world.join("ui", { name: "none" });
  assert.deepEqual(types(none.got), ["bb_sync_ack", "bb_live"]);
  const all = await live(world, await world.join("ui", { name: "all" }, { resume: "start" }));
  const durable = ui.got.filter(({ cursor, event_type }) => cursor !== undefined && event_type !== "bb_live");
  assert.deepEqual(all.got.slice(1, -1), durable, "as they were shown when they happened");
  const narrow = { scopes: ["v"], types: ["user_event"], resume: "start" };
  const some = await live(world, await world.join("ui", { name: "some" }, narrow));
  assert.deepEqual(types(some.got), ["bb_sync_ack", "user_event", "bb_live"]);
  const again = await live(
    world,
    await world.join(
      "telemetry",
      { name: "again", content: true },
      {
        resume: "start",
        types: ["tool_call", "bb_tool_call_request", "bb_tool_call_result", "tool_result", "user_event", "infer_chunk"],
      },
    ),
  );
  const copied = copies.got.filter(({ event_type, cursor }) => cursor !== undefined && event_type !== "bb_live");
  const wanted = copied.filter(({ event_type }) => /tool|user_event|infer_chunk/.test(event_type));
  assert.deepEqual(again.got.slice(1, -1), wanted);
  const bare = await live(world, await world.join("telemetry", { name: "bare" }, { resume: "start" }));
  assert.doesNotMatch(JSON.stringify(bare.got), /read it|"one"|"done"/);
  await world.end();
});

test("a UI that drops at any event and returns with its cursor gets each later one once and in order, while more happens (RPL-6, hard case 26)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const steady = await world.join("ui", { name: "steady" });
  const scopes = ["u", "u/a", "u/~child", "v", "w"];
  let turns = 0;
  const go = (): void => {
    for (const request of infer.all("bb_infer_request").slice(turns)) {
      for (const event of [...textChunks(request, `answer ${turns}`), inferResult(request)]) infer.link.send(event);
      turns++;
    }
    for (const scope of scopes) steady.link.send(message("go on", scope));
  };
  for (let before = 0; before < 6; before++) {
    go();
    await world.settle();
  }
  const whole = (): string[] => cursors(steady.got);
  const order = whole();
  for (let at = 0; at < order.length; at += 5) {
    const back = world.join("ui", { name: `back-${at}` }, { resume: [order[at]] });
    go();
    const late = await back;
    for (let meanwhile = 0; late.all("bb_live").length === 0 && meanwhile < 100; meanwhile++) {
      go();
      await world.settle();
    }
    go();
    await world.settle();
    assert.deepEqual(cursors(late.got), whole().slice(at + 1), `after event ${at}`);
    late.link.send({ event_type: "bb_bye", reason: "seen it" });
  }
  while (infer.all("bb_infer_request").length > turns) {
    go();
    await world.settle();
    scopes.length = 0;
  }
  await world.end();
});

test("the UI leaves in mid-turn: the turn goes on, and is whole when it returns (RPL-6, CHK-5, hard case 23)", async () => {
  for (let at = 0; at < 7; at++) {
    const world = new World();
    const infer = await world.join("infer");
    const ui = await world.join("ui");
    await ui.send(message("hello"));
    const request = infer.last("bb_infer_request");
    const pieces = [...textChunks(request, "abc"), ...textChunks(request, "def", 1), inferResult(request)];
    await infer.send(...pieces.slice(0, at));
    const last = cursors(ui.got).at(-1)!;
    await ui.send({ event_type: "bb_bye", reason: "the tab was closed" });
    await infer.send(...pieces.slice(at, at + 2));
    const back = await live(world, await world.join("ui", { name: "back" }, { resume: [last] }));
    await infer.send(...pieces.slice(at + 2));
    const text = new Map<unknown, string>();
    for (const event of [...ui.got, ...back.got]) {
      if (event["kind"] === "block_start") text.set(event["index"], "");
      if (event["kind"] === "block_delta") text.set(event["index"], text.get(event["index"])! + String(event["delta"]));
      if (event["kind"] === "block_stop") text.set(event["index"], (event["block"] as { text: string }).text);
    }
    assert.deepEqual([...text.values()], ["abc", "def"], `left after ${at} pieces`);
    assert.equal(back.all("infer_chunk").at(-1)?.["kind"], "loop_done");
    await world.end();
  }
});

test("a cursor from another log, from the future, or none at all is refused and says what to do; another scope's shows nothing of it (RPL-3, SCP-7, hard case 27)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  await ui.send(message("one"), message("secret", "v"));
  await answer(infer, "secret too");
  await infer.send(inferResult(infer.all("bb_infer_request")[0]!));
  const theirs = String(ui.all("user_event")[1]!["cursor"]);
  const later = theirs.replace(/:(\d+)\./, (_, order: string) => `:${Number(order) + 1000}.`);
  const bad = [
    "m000000000000:1.0",
    later,
    "garbage",
    "",
    ":",
    "1.0",
    theirs.replace(":", ""),
    `${theirs}.9`,
    "\u0000:1",
  ];
  for (const cursor of [...bad, ""].map((each) => [each]).concat([[]])) {
    const back = await world.join("ui", { name: "back", scopes: ["u"] }, { resume: cursor });
    assert.equal(back.last("bb_error")["code"], "cursor_expired", JSON.stringify(cursor));
    assert.match(String(back.last("bb_error")["message"]), /sync with "start".* or without resume/);
    assert.deepEqual(types(back.got), ["bb_error", "bb_bye"]);
    assert.ok(back.closed !== undefined);
  }
  for (const resume of [["x".repeat(257)], ["a", 1], "begin", {}]) {
    const back = await world.join("ui", { name: "back", scopes: ["u"] }, { resume });
    assert.equal(back.last("bb_error")["code"], "invalid_event");
  }
  const twice = await world.join("ui", { name: "twice" }, { resume: [theirs, later.replace(/:.*/, ":1.0")] });
  assert.equal(twice.last("bb_error")["code"], "invalid_params");
  const wrong = await world.join("infer", { name: "wrong" }, { resume: "start" });
  assert.equal(wrong.last("bb_error")["code"], "invalid_params");
  const others = ["nats-1:77.0", theirs];
  const back = await live(world, await world.join("ui", { name: "back", scopes: ["u"] }, { resume: others }));
  assert.ok(back.got.every(({ scope }) => scope === undefined || scope === "u"));
  assert.doesNotMatch(JSON.stringify(back.got), /secret/);
  assert.ok(cursors(back.got).length > 0, "what came after that place, of its own scope");
  await world.end();
});

test("a reader goes on inside an entry, and an event's index beyond it is the whole entry (RPL-4, RPL-6)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  await ui.send(message("go"));
  const content = ["one", "two", "three"].map((text) => ({ type: "text", text }));
  await infer.send({ ...inferResult(infer.last("bb_infer_request")), content });
  const order = cursors(ui.got);
  const shared = order.findIndex((cursor, at) => cursor.split(".")[0] === order[at + 1]?.split(".")[0]);
  assert.ok(shared !== -1, `an entry of several events: ${order.join(" ")}`);
  const back = await live(world, await world.join("ui", { name: "back" }, { resume: [order[shared]] }));
  assert.deepEqual(cursors(back.got), order.slice(shared + 1));
  const beyond = order[shared]!.replace(/\.\d+$/, ".255");
  const after = await live(world, await world.join("ui", { name: "after" }, { resume: [beyond] }));
  assert.deepEqual(
    cursors(after.got),
    order.filter(
      (cursor) => !order.slice(0, shared + 1).includes(cursor) && cursor.split(".")[0] !== beyond.split(".")[0],
    ),
  );
  await ui.send({ event_type: "interrupt", scope: "u" });
  await infer.send(inferResult(infer.last("bb_infer_request")));
  await world.end();
});

test("bb_live says where the log stands: who has seen nothing durable returns with that (RPL-4)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  const first = String(ui.last("bb_live")["cursor"]);
  await ui.send(message("while it was away"));
  await answer(infer, "hi");
  const back = await live(world, await world.join("ui", { name: "back" }, { resume: [first] }));
  assert.deepEqual(cursors(back.got), cursors(ui.got));
  assert.equal(
    String(back.last("bb_live")["cursor"]),
    cursors(ui.got)
      .at(-1)!
      .replace(/\.\d+$/, ""),
  );
  await world.end();
});

test("what a UI missed beyond what the log keeps is told as a snapshot with the messages, never passed over (RPL-7, LOG-5, hard case 27)", async () => {
  const world = new World({ retention: { events: 20, bytes: Infinity } });
  const infer = await world.join("infer");
  const tools = await world.join("toolsource");
  await tools.send(register("read"));
  const ui = await world.join("ui");
  const history: string[] = [];
  const turn = async (n: number): Promise<void> => {
    await ui.send(message(`question ${n}`));
    await answer(infer, `answer ${n}`);
    history.push(`question ${n}`, `answer ${n}`);
  };
  await turn(0);
  const early = cursors(ui.got).at(-1)!;
  for (let n = 1; n < 40; n++) await turn(n);
  await ui.send(message("elsewhere", "v"));
  await answer(infer, "there");
  const kept = (await world.entries()).length;
  assert.ok(kept < 60, `${kept} entries are kept`);
  await ui.send({ event_type: "bb_history_request", id: "h", scope: "u", limit: 1000 });
  const page = ui.last("bb_history_result")["events"] as Event[];
  assert.ok(page.length > 10 && page.every(({ event_type }) => event_type !== "bb_snapshot"));

  for (const resume of [[early], "start"]) {
    const back = await live(
      world,
      await world.join("ui", { name: "back" }, { resume, types: ["user_event", "infer_chunk"] }),
    );
    const snapshots = back.all("bb_snapshot");
    assert.deepEqual(
      snapshots.map(({ scope }) => scope),
      ["u"],
    );
    const { messages, more } = snapshots[0]!["state"] as { messages: { content: { text: string }[] }[]; more: boolean };
    assert.equal(more, false);
    const after = back.got.slice(back.got.indexOf(snapshots[0]!) + 1).filter(({ scope }) => scope === "u");
    const texts = [
      ...messages.flatMap(({ content }) => content.map(({ text }) => text)),
      ...after.flatMap((event) => event["text"] ?? (event["block"] as { text?: string })?.text ?? []),
    ];
    assert.deepEqual(texts, history, "the snapshot and what follows are all that was said, once");
    const order = cursors(back.got);
    assert.deepEqual(order.slice(1), cursors(ui.got).slice(-order.length + 1));
    assert.ok(
      back.all("user_event").some(({ scope }) => scope === "v"),
      "a cell that was not trimmed comes whole",
    );
    const again = await live(world, await world.join("ui", { name: "again" }, { resume: [order[0]] }));
    assert.deepEqual(cursors(again.got), order.slice(1), "a snapshot's own cursor is a place like any other");
    for (const peer of [back, again]) await peer.send({ event_type: "bb_bye", reason: "done" });
  }
  const bare = await live(world, await world.join("telemetry", { name: "bare" }, { resume: "start" }));
  assert.deepEqual(
    bare.all("bb_snapshot").map(({ state }) => state),
    [undefined],
  );
  assert.doesNotMatch(JSON.stringify(bare.got), /question|answer/);
  const below = await live(world, await world.join("ui", { name: "below", scopes: ["u/~child"] }, { resume: "start" }));
  assert.deepEqual(
    below.all("bb_snapshot").map(({ scope, state }) => [scope, state]),
    [["u/~child", { messages: [], open: [], more: true }]],
  );
  await world.hub.close();
});

test("a snapshot in mid-turn has what is in no message yet: waiting input, whole blocks, running calls and their results (RPL-7)", async () => {
  const world = new World({ retention: { events: 5, bytes: Infinity } });
  const infer = await world.join("infer");
  const tools = await world.join("toolsource");
  await tools.send(register("read", "write"));
  const ui = await world.join("ui");
  await ui.send(message("go"));
  const request = infer.last("bb_infer_request");
  await infer.send(
    ...toolChunks(request, "read", {}),
    ...toolChunks(request, "write", {}, 1),
    inferResult(request, "tool_use"),
  );
  const [read] = tools.all("bb_tool_call_request") as [Event];
  await tools.send(toolResult(read, "half"));
  for (let n = 0; n < 12; n++) await ui.send(message(`waiting ${n}`));
  const back = await live(world, await world.join("ui", { name: "back" }, { resume: "start" }));
  const snapshot = back.all("bb_snapshot")[0]!;
  const { open } = snapshot["state"] as { open: Event[] };
  const after = back.got.slice(back.got.indexOf(snapshot) + 1);
  const texts = [...open, ...after].filter(({ event_type }) => event_type === "user_event").map(({ text }) => text);
  assert.deepEqual(
    texts,
    Array.from({ length: 12 }, (_, n) => `waiting ${n}`),
  );
  assert.deepEqual(
    open.flatMap(({ event_type, name, status }) => (event_type === "user_event" ? [] : [[event_type, name, status]])),
    [
      ["tool_call", "write", undefined],
      ["tool_result", "read", "ok"],
    ],
  );
  await world.hub.close();
});
