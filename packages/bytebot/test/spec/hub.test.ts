import assert from "node:assert/strict";
import { test } from "node:test";
import { BytebotError, type Event } from "../../src/wire/index.ts";
import { inferFailure, inferResult, message, register, textChunks, toolChunks, World } from "../hub/world.ts";

test("the loop's stop reason is the infer's, end_turn where it says none; a failure without a reason is internal (TRN-10, ENV-10)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  for (const stop_reason of [undefined, "end_turn", "max_tokens", "refusal"]) {
    await ui.send(message("go"));
    const request = infer.last("bb_infer_request");
    const said = stop_reason === undefined ? {} : { stop_reason };
    await infer.send({ event_type: "bb_infer_result", in_reply_to: request["id"], success: true, ...said });
    assert.equal(ui.last("infer_chunk")["stop_reason"], stop_reason ?? "end_turn");
  }
  await ui.send(message("go"));
  const request = infer.last("bb_infer_request");
  await infer.send({ event_type: "bb_infer_result", in_reply_to: request["id"], success: false });
  const { error, stop_reason } = ui.last("infer_chunk") as {
    error?: { code: string; retryable: boolean };
    stop_reason?: string;
  };
  assert.deepEqual([stop_reason, error?.code, error?.retryable], ["error", "internal", false]);
  await world.end();
});

test("an infer may not say loop_done (CHK-4)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  await ui.send(message("go"));
  const request = infer.last("bb_infer_request");
  const of = { event_type: "infer_chunk", in_reply_to: request["id"] };
  await infer.send({ ...of, kind: "loop_done", stop_reason: "end_turn" });
  assert.equal(infer.last("bb_error")["code"], "not_authority");
  assert.deepEqual(ui.all("infer_chunk"), []);
  await infer.send(inferResult(request));
  assert.equal(ui.last("infer_chunk")["kind"], "loop_done");
  await world.end();
});

test("the Hub says how a call ended, whatever the source writes; the first result counts, a later one is no offence (TOL-5)", async () => {
  const cases: [answer: Record<string, unknown>, status: string, told: RegExp][] = [
    [{ success: true, status: "denied", content: [{ type: "text", text: "fine" }] }, "ok", /"fine"/],
    [
      { success: false, error: { code: "not_found", message: "no such file", retryable: false } },
      "error",
      /"no such file"/,
    ],
    [{ success: false, error: { code: "cancelled", message: "stopped", retryable: false } }, "cancelled", /"stopped"/],
  ];
  for (const [answer, status, told] of cases) {
    const world = new World();
    const infer = await world.join("infer");
    const tools = await world.join("toolsource");
    const ui = await world.join("ui");
    await tools.send(register("read"));
    await ui.send(message("go"));
    const request = infer.last("bb_infer_request");
    await infer.send(...toolChunks(request, "read", {}), inferResult(request, "tool_use"));
    const { call_id } = tools.last("bb_tool_call_request");
    await tools.send({ event_type: "bb_tool_call_result", call_id, ...answer });
    await tools.send({ event_type: "bb_tool_call_result", call_id, success: true });
    assert.deepEqual(
      ui.all("tool_result").map((result) => result["status"]),
      [status],
    );
    assert.deepEqual(tools.all("bb_error"), []);
    assert.match(JSON.stringify(infer.last("bb_infer_request")["messages"]), told);
    await infer.send(inferResult(infer.last("bb_infer_request")));
    await world.end();
  }
});

test("an interrupt is logged in each cell that it stops, under that cell's part of its scope, and shown there (INT-6)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  const inner = await world.join("ui", { name: "inner", scopes: ["u/a"] });
  await ui.send(message("one", "u"), message("two", "u/a"), message("three", "u/a/~child"), message("four", "v"));
  await ui.send({ event_type: "interrupt", id: "s1", scope: "u", reason: "enough" });
  const logged = (await world.entries()).flatMap(({ cell, events }) =>
    events
      .filter(({ event_type }) => event_type === "interrupt")
      .map(({ scope, id, reached }) => [cell, scope, id, reached]),
  );
  // The last one stops nothing: it says that all have logged it, and by it the id is known again.
  assert.deepEqual(logged, [
    ["u", "u", undefined, undefined],
    ["u/a", "u/a", undefined, undefined],
    ["u", "u", "s1", ["u", "u/a"]],
  ]);
  assert.deepEqual(
    inner.all("interrupt").map(({ scope, from, reason }) => [scope, from, reason]),
    [["u/a", "ui", "enough"]],
  );
  assert.equal(ui.all("bb_ack").filter(({ in_reply_to }) => in_reply_to === "s1").length, 1);
  const requests = infer.all("bb_infer_request");
  await infer.send(...requests.map((request) => inferFailure(request, { code: "cancelled" })));
  await world.end();
});

test("on joining nothing old is sent; all readers see one cursor, whose seq is its place in the log (RPL-3, RPL-4, LOG-2)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  await ui.send(message("go"));
  const request = infer.last("bb_infer_request");
  await infer.send(...textChunks(request, "hi"), inferResult(request));
  const late = await world.join("ui", { name: "late" });
  assert.deepEqual(
    late.got.map(({ event_type }) => event_type),
    ["bb_sync_ack", "bb_live"],
  );
  const stored = (await world.entries()).flatMap(({ pos, cursor, events }) =>
    events.map((event, index) => ({
      event_type: event.event_type,
      seq: pos * 256 + index,
      cursor: `${cursor}.${index}`,
    })),
  );
  const heard = world.seen.filter(({ seq, event_type }) => seq !== undefined && event_type !== "bb_ack");
  const places = heard.map(({ event_type, seq, cursor }) => ({ event_type, seq, cursor }));
  assert.deepEqual(places, stored);
  const [log = ""] = String(places[0]!.cursor).split(":");
  assert.ok(places.every(({ cursor }) => String(cursor).startsWith(`${log}:`)));
  const shown = ui.got.filter(({ seq, event_type }) => seq !== undefined && event_type !== "bb_ack");
  for (const { event_type, seq, cursor } of shown)
    assert.ok(
      stored.some((entry) => entry.seq === seq && entry.cursor === cursor),
      event_type,
    );
  await world.end();
});

test("nothing leaves before its entry is committed; what gathers meanwhile shares the next one, and other cells go on (LOG-1, LOG-3)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  const commit = Promise.withResolvers<void>();
  const append = world.log.append.bind(world.log);
  let inFlight = 0;
  world.log.append = async (cell, expected, entry) => {
    if (cell !== "slow") return append(cell, expected, entry);
    assert.equal(++inFlight, 1, "one append of a cell is in flight");
    await commit.promise;
    inFlight--;
    return append(cell, expected, entry);
  };
  await ui.send(message("one", "slow", { id: "m1" }));
  await ui.send(message("two", "slow", { id: "m2" }), message("three", "slow", { id: "m3" }));
  await ui.send(message("meanwhile", "quick", { id: "m4" }));
  assert.deepEqual(
    ui.all("bb_ack").map(({ in_reply_to }) => in_reply_to),
    ["m4"],
  );
  assert.deepEqual(
    ui.all("user_event").map(({ scope }) => scope),
    ["quick"],
  );
  assert.deepEqual(
    infer.all("bb_infer_request").map(({ scope }) => scope),
    ["quick"],
  );
  commit.resolve();
  await world.settle();
  assert.deepEqual(
    ui.all("bb_ack").map(({ in_reply_to }) => in_reply_to),
    ["m4", "m1", "m2", "m3"],
  );
  const entries = (await world.entries()).filter(({ cell }) => cell === "slow");
  const texts = entries.map(({ events }) => events.flatMap(({ text }) => (text === undefined ? [] : [text])));
  assert.deepEqual(
    texts.filter((each) => each.length > 0),
    [["one"], ["two", "three"]],
  );
  for (let turn = 0; turn < 4; turn++) {
    for (const request of infer.all("bb_infer_request").slice(turn)) infer.link.send(inferResult(request));
    await world.settle();
  }
  await world.end();
});

test("an append of unknown outcome is repeated under its id; one that is refused did not happen, and everybody is told (LOG-4)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  const append = world.log.append.bind(world.log);
  const ids: string[] = [];
  world.log.append = async (cell, expected, entry) => {
    ids.push(entry.id);
    const place = await append(cell, expected, entry);
    // It was committed, and the answer was lost.
    if (ids.length < 3) throw new BytebotError("unavailable", "no answer", { retryable: true });
    return place;
  };
  await ui.send(message("once", "u", { id: "m1" }));
  await world.pass(1000);
  assert.equal(new Set(ids.slice(0, 3)).size, 1);
  assert.equal(ui.last("bb_ack")["fate"], "started");
  assert.equal((await world.entries()).flatMap(({ events }) => events).filter(({ text }) => text === "once").length, 1);
  await infer.send(inferResult(infer.last("bb_infer_request")));

  world.log.append = () => Promise.reject(new BytebotError("unavailable", "the disk is full"));
  await ui.send(message("lost", "u", { id: "m2" }));
  const { code, in_reply_to } = ui.last("bb_error");
  assert.deepEqual([code, in_reply_to], ["unavailable", "m2"]);
  assert.equal(ui.all("bb_ack").length, 1);
  assert.deepEqual(
    ui.all("user_event").map(({ text }) => text),
    ["once"],
  );
  assert.equal((ui.last("infer_chunk") as Event & { error: { message: string } }).error.message, "the disk is full");
  assert.equal(ui.last("scope_state")["state"], "idle");
  assert.equal(infer.all("bb_infer_request").length, 1);

  world.log.append = append;
  await ui.send(message("again", "u", { id: "m2" }));
  await infer.send(inferResult(infer.last("bb_infer_request")));
  assert.equal(ui.last("infer_chunk")["stop_reason"], "end_turn");
  await world.end();
});
