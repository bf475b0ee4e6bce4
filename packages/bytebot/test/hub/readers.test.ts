import assert from "node:assert/strict";
import { test } from "node:test";
import { inferResult, message, register, textChunks, World, type Peer } from "./world.ts";

test("a reader that joins in mid-block gets the text so far as one delta, then exactly what follows (CHK-5, RPL-1)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  await ui.send(message("hello"));
  const request = infer.last("bb_infer_request");
  const delta = (text: string) => ({
    event_type: "infer_chunk",
    kind: "block_delta",
    index: 0,
    block_type: "text",
    delta: text,
    in_reply_to: request["id"],
  });
  await infer.send(textChunks(request, "")[0]!, delta("one "), delta("two "));
  const joining = world.join("ui", { name: "late" });
  infer.link.send(delta("three "));
  const late = await joining;
  await infer.send(
    delta("four"),
    { event_type: "infer_chunk", kind: "block_stop", index: 0, in_reply_to: request["id"] },
    inferResult(request),
  );
  assert.equal(late.text(), ui.text());
  assert.equal(late.text(), "one two three four");
  const starts = late.all("infer_chunk").filter(({ kind }) => kind === "block_start");
  assert.equal(starts.length, 1);
  assert.ok(
    late.got.findIndex(({ event_type }) => event_type === "bb_live") >
      late.got.findIndex(({ event_type }) => event_type === "scope_state"),
  );
  await world.end();
});

test("joining at every moment of a turn shows the same text (CHK-5, RPL-1, RPL-2)", async () => {
  for (let at = 0; at < 9; at++) {
    const world = new World();
    const infer = await world.join("infer");
    const ui = await world.join("ui");
    await ui.send(message("hello"));
    const request = infer.last("bb_infer_request");
    const pieces = [...textChunks(request, "abc"), ...textChunks(request, "def", 1), inferResult(request)];
    let late: Peer | undefined;
    for (const [index, piece] of pieces.entries()) {
      infer.link.send(piece);
      if (index === at) late = await world.join("ui", { name: "late" });
    }
    late ??= await world.join("ui", { name: "late" });
    await world.settle();
    // What was complete before it came is history, which it may ask for.
    await late.send({ event_type: "bb_history_request", id: "h", scope: "u" });
    const blocks = (late.last("bb_history_result")["events"] as { kind?: string; block?: { text: string } }[]).filter(
      ({ kind }) => kind === "block_stop",
    );
    assert.equal(blocks.map(({ block }) => block!.text).join(""), "abcdef", `joined at ${at}`);
    const live = late
      .all("infer_chunk")
      .filter(({ kind }) => kind === "block_delta")
      .map(({ index, delta }) => `${String(index)}${String(delta)}`);
    assert.ok(new Set(live).size === live.length, "nothing comes twice");
    await world.end();
  }
});

test("telemetry sees copies marked observed, without content unless it was granted (KND-4)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const bare = await world.join("telemetry", { name: "bare" });
  const full = await world.join("telemetry", { name: "full", content: true });
  const narrow = await world.join("telemetry", { name: "narrow", scopes: ["v"] });
  const some = await world.join("telemetry", { name: "some" }, { types: ["scope_state"] });
  const ui = await world.join("ui");
  await ui.send(message("a secret", "u", { id: "m1" }));
  await infer.send(
    ...textChunks(infer.last("bb_infer_request"), "secret too"),
    inferResult(infer.last("bb_infer_request")),
  );
  assert.ok(
    bare.got
      .filter(({ event_type }) => !["bb_sync_ack", "bb_live"].includes(event_type))
      .every(({ observed }) => observed === true),
  );
  assert.doesNotMatch(JSON.stringify(bare.got), /secret/);
  assert.match(JSON.stringify(full.got), /a secret.*secret too/);
  assert.deepEqual(
    narrow.got.filter(({ scope }) => scope !== undefined),
    [],
  );
  assert.deepEqual(
    new Set(some.got.map(({ event_type }) => event_type)),
    new Set(["bb_sync_ack", "bb_live", "scope_state"]),
  );
  for (const type of ["user_event", "bb_infer_request", "infer_chunk", "bb_infer_result", "bb_ack"])
    assert.ok(full.all(type).length > 0, type);
  assert.equal(full.all("bb_infer_request").length, 1, "each event once");
  await world.end();
});

test("a UI that asked for some types is shown no others, and no UI sees a control event (CON-3, KND-3)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const tools = await world.join("toolsource");
  await tools.send(register("read"));
  const ui = await world.join("ui");
  const some = await world.join("ui", { name: "some" }, { types: ["user_event"] });
  await ui.send(message("hello"));
  await infer.send(...textChunks(infer.last("bb_infer_request"), "x"), inferResult(infer.last("bb_infer_request")));
  assert.deepEqual(
    some.got.map(({ event_type }) => event_type),
    ["bb_sync_ack", "bb_live", "user_event"],
  );
  assert.ok(ui.got.every(({ event_type }) => !/^bb_(tool|infer|context)/.test(event_type)));
  await world.end();
});
