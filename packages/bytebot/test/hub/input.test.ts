import assert from "node:assert/strict";
import { test } from "node:test";
import { inferResult, message, register, textChunks, toolChunks, toolResult, World } from "./world.ts";

test("the same input again gets the same answer and runs nothing twice; another body under its id is a conflict (ENV-3)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  await ui.send(message("once", "u", { id: "m1" }), message("once", "u", { id: "m1" }));
  const [first, second] = ui.all("bb_ack");
  assert.equal(first?.["seq"], second?.["seq"]);
  assert.equal(second?.["fate"], "started");
  await ui.send(message("twice", "u", { id: "m1" }));
  assert.equal(ui.last("bb_error")["code"], "conflict");
  assert.equal(ui.all("user_event").length, 1);
  const other = await world.join("ui", { name: "other" });
  await other.send(message("mine", "v", { id: "m1" }));
  assert.equal(other.last("bb_ack")["fate"], "started", "an id is a component's own");
  for (const request of infer.all("bb_infer_request")) await infer.send(inferResult(request));
  assert.equal(infer.all("bb_infer_request").length, 2);
  await world.end();
});

test("input during a turn waits its turn, in the Hub's order, and idle comes only when nothing waits (INP-1, INP-3, TRN-9)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  const other = await world.join("ui", { name: "other" });
  await ui.send(message("a", "u", { id: "m1" }));
  await Promise.all([ui.send(message("b", "u", { id: "m2" })), other.send(message("c", "u", { id: "m3" }))]);
  assert.deepEqual(
    [...ui.all("bb_ack"), ...other.all("bb_ack")].map(({ fate }) => fate),
    ["started", "queued", "queued"],
  );
  for (let turn = 0; turn < 3; turn++) {
    assert.equal(ui.all("scope_state").filter(({ state }) => state === "idle").length, 0);
    const request = infer.last("bb_infer_request");
    await infer.send(...textChunks(request, "ok"), inferResult(request));
  }
  const heard = ui.all("user_event").map(({ text, seq }) => [text, seq]);
  assert.deepEqual(
    heard,
    other.all("user_event").map(({ text, seq }) => [text, seq]),
    "every UI sees one order",
  );
  const last = infer.last("bb_infer_request")["messages"] as { role: string; content: { text: string }[] }[];
  assert.deepEqual(
    last.filter(({ role }) => role === "user").map(({ content }) => content[0]!.text),
    heard.map(([text]) => text),
  );
  assert.equal(ui.last("scope_state")["state"], "idle");
  await world.end();
});

test("a full queue and mode refuse say refused, and what was refused may come again (INP-2, INP-4)", async () => {
  const world = new World({ limits: { queue: 1 } });
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  await ui.send(message("a", "u", { id: "m1" }), message("b", "u", { id: "m2", mode: "refuse" }));
  await ui.send(message("c", "u", { id: "m3" }), message("d", "u", { id: "m4" }));
  assert.deepEqual(
    ui.all("bb_ack").map(({ fate }) => fate),
    ["started", "refused", "queued", "refused"],
  );
  assert.equal(ui.all("user_event").length, 2, "a refused input is not logged");
  await infer.send(inferResult(infer.last("bb_infer_request")));
  await ui.send(message("d", "u", { id: "m4" }));
  assert.equal(ui.last("bb_ack")["fate"], "queued");
  for (let turn = 0; turn < 2; turn++) await infer.send(inferResult(infer.last("bb_infer_request")));
  await world.end();
});

test("a steer reaches the model before the next round; one whose loop ended becomes the next turn (INP-3)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const tools = await world.join("toolsource");
  const ui = await world.join("ui");
  await tools.send(register("read"));
  await ui.send(message("go"));
  const first = infer.last("bb_infer_request");
  await infer.send(...toolChunks(first, "read", {}), inferResult(first, "tool_use"));
  await ui.send(message("rather b", "u", { id: "m2", mode: "steer" }));
  assert.equal(ui.last("bb_ack")["fate"], "steering");
  await tools.send(toolResult(tools.last("bb_tool_call_request"), "a"));
  const second = infer.last("bb_infer_request");
  const last = (second["messages"] as { content: { type: string; text?: string }[] }[]).at(-1)!;
  assert.deepEqual(
    last.content.map(({ type, text }) => [type, text]),
    [
      ["tool_result", undefined],
      ["text", "rather b"],
    ],
  );
  await ui.send(message("too late for it", "u", { id: "m3", mode: "steer" }));
  await infer.send(...textChunks(second, "done"), inferResult(second));
  const third = infer.last("bb_infer_request");
  assert.notEqual(third["loop_id"], first["loop_id"]);
  await infer.send(inferResult(third));
  await world.end();
});

test("mode replace interrupts the running turn and takes its place (INP-3)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  await ui.send(message("long work", "u", { id: "m1" }), message("waits", "u", { id: "m2" }));
  await ui.send(message("no, this", "u", { id: "m3", mode: "replace" }));
  const request = infer.last("bb_infer_request");
  assert.equal(infer.last("bb_cancel")["target"], request["id"]);
  await infer.send({
    ...inferResult(request),
    success: false,
    error: { code: "cancelled", message: "", retryable: false },
  });
  const said = (infer.last("bb_infer_request")["messages"] as { content: { text: string }[] }[]).at(-1)!;
  assert.equal(said.content.at(-1)!.text, "no, this");
  for (let turn = 0; turn < 2; turn++) await infer.send(inferResult(infer.last("bb_infer_request")));
  assert.equal(ui.all("input_state").length, 0, "what waited was not returned");
  assert.deepEqual(
    ui.all("infer_chunk").map(({ stop_reason }) => stop_reason),
    ["interrupted", "end_turn", "end_turn"],
  );
  await world.end();
});

test("ten sends in a burst and clocks ten minutes apart change nothing: the order is the Hub's (hard case 20)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  for (let index = 0; index < 10; index++)
    ui.link.send(message(`m${index}`, "u", { id: `m${index}`, ts: 1e12 - index * 600_000 }));
  await world.settle();
  assert.deepEqual(
    ui.all("user_event").map(({ text }) => text),
    Array.from({ length: 10 }, (_, index) => `m${index}`),
  );
  for (let turn = 0; turn < 10; turn++) await infer.send(inferResult(infer.last("bb_infer_request")));
  assert.equal(infer.all("bb_infer_request").length, 10);
  await world.end();
});

test("an input without content, or of an unknown mode, is refused and not logged (INP-1)", async () => {
  const world = new World();
  const ui = await world.join("ui");
  await ui.send({ event_type: "user_event", id: "m1", type: "message", scope: "u" });
  assert.equal(ui.last("bb_error")["code"], "invalid_params");
  await ui.send(message("hi", "u", { mode: "whenever" }));
  assert.equal(ui.last("bb_error")["code"], "invalid_event");
  assert.equal(ui.all("user_event").length, 0);
  await world.end();
});

test("the UI leaves in mid-turn: the turn goes on, and its history is whole when it returns (hard case 23)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  await ui.send(message("go", "u", { id: "m1" }));
  await ui.link.close("the window was shut");
  const request = infer.last("bb_infer_request");
  await infer.send(...textChunks(request, "all of it"), inferResult(request));
  assert.equal(infer.all("bb_cancel").length, 0, "a lost connection is no interrupt");
  const back = await world.join("ui");
  await back.send({ event_type: "bb_history_request", id: "h1", scope: "u" });
  const events = back.last("bb_history_result")["events"] as { event_type: string; block?: { text: string } }[];
  assert.deepEqual(
    events.map(({ event_type }) => event_type),
    ["user_event", "infer_chunk", "infer_chunk"],
  );
  assert.equal(events[1]!.block!.text, "all of it");
  await world.end();
});

test("history pages backwards by cursor, and a cursor that is not there is refused (RPL-5)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  for (let index = 0; index < 3; index++) {
    await ui.send(message(`m${index}`));
    await infer.send(inferResult(infer.last("bb_infer_request")));
  }
  await ui.send({ event_type: "bb_history_request", id: "h1", scope: "u", limit: 4 });
  const newest = ui.last("bb_history_result");
  assert.equal(newest["more"], true);
  const page = newest["events"] as { cursor: string }[];
  assert.equal(page.length, 4);
  await ui.send({ event_type: "bb_history_request", id: "h2", scope: "u", limit: 4, before: page[0]!.cursor });
  assert.deepEqual(
    (ui.last("bb_history_result")["events"] as { text?: string }[]).map(({ text }) => text),
    ["m0", undefined],
  );
  await ui.send({ event_type: "bb_history_request", id: "h3", scope: "u", before: "elsewhere:1.0" });
  assert.equal((ui.last("bb_history_result")["error"] as { code: string }).code, "cursor_expired");
  await world.end();
});
