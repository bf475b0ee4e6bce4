import assert from "node:assert/strict";
import { test } from "node:test";
import type { Event } from "../../src/wire/index.ts";
import { inferResult, message, register, toolResult, World, type Peer } from "./world.ts";

type Blocks = Record<string, unknown>[];

const starts = (request: Event, index: number, block_type: string, more: object = {}): Event => ({
  event_type: "infer_chunk",
  kind: "block_start",
  index,
  block_type,
  in_reply_to: request["id"],
  ...more,
});
const deltas = (request: Event, index: number, block_type: string, delta: string): Event => ({
  event_type: "infer_chunk",
  kind: "block_delta",
  index,
  block_type,
  delta,
  in_reply_to: request["id"],
});
const stops = (request: Event, index: number, block?: object): Event => ({
  event_type: "infer_chunk",
  kind: "block_stop",
  index,
  in_reply_to: request["id"],
  ...(block ? { block } : {}),
});

async function asked(): Promise<{ world: World; infer: Peer; tools: Peer; ui: Peer; request: Event }> {
  const world = new World();
  const infer = await world.join("infer");
  const tools = await world.join("toolsource");
  const ui = await world.join("ui");
  await tools.send(register("read"));
  await ui.send(message("go"));
  return { world, infer, tools, ui, request: infer.last("bb_infer_request") };
}

const wholes = (ui: Peer): Blocks =>
  ui.all("infer_chunk").flatMap(({ kind, block }) => (kind === "block_stop" ? [block as Blocks[0]] : []));

test("a block without deltas is what its stop says it is, of the type that it was started as (CHK-2)", async () => {
  const { world, infer, ui, request } = await asked();
  await infer.send(
    starts(request, 0, "thinking"),
    stops(request, 0, { type: "thinking", thinking: "hm", signature: "s" }),
    starts(request, 1, "text"),
    stops(request, 1, { type: "text", text: "whole" }),
    starts(request, 2, "text"),
    stops(request, 2, { type: "thinking", thinking: "not shown as text" }),
    starts(request, 3, "thinking"),
    stops(request, 3, { type: "text", text: "not taken for thinking" }),
    inferResult(request),
  );
  assert.deepEqual(
    wholes(ui).map(({ type, text, thinking }) => [type, type === "text" ? text : thinking]),
    [
      ["thinking", "hm"],
      ["text", "whole"],
      ["text", ""],
      ["thinking", ""],
    ],
  );
  await world.end();
});

test("a block is started once, stopped once, and a tool's block names its tool; the rest of the answer goes on (CHK-1)", async () => {
  const { world, infer, ui, request } = await asked();
  await infer.send(
    starts(request, 0, "text"),
    starts(request, 0, "text"),
    deltas(request, 0, "text", "once"),
    stops(request, 0),
    starts(request, 0, "text"),
    stops(request, 0, { type: "text", text: "twice" }),
    stops(request, 1),
    starts(request, 1, "tool_use"),
  );
  assert.deepEqual(
    infer
      .all("bb_error")
      .map(({ code, message: why }) => [code, /started already|not open|names its tool/.test(String(why))]),
    Array(5).fill(["invalid_event", true]),
  );
  await infer.send(inferResult(request));
  assert.deepEqual(wholes(ui), [{ type: "text", text: "once" }]);
  assert.equal(ui.last("infer_chunk")["stop_reason"], "end_turn");
  await world.end();
});

test("the end of a loop is the Hub's to say: an infer that says it is refused, and the turn goes on (TRN-9)", async () => {
  const { world, infer, ui, request } = await asked();
  await infer.send({
    event_type: "infer_chunk",
    kind: "loop_done",
    stop_reason: "end_turn",
    in_reply_to: request["id"],
  });
  assert.equal(infer.last("bb_error")["code"], "not_authority");
  assert.deepEqual(ui.all("infer_chunk"), []);
  await infer.send(inferResult(request));
  assert.equal(ui.all("infer_chunk").length, 1);
  await world.end();
});

test("arguments that the infer itself calls malformed are kept as it wrote them, and never run (CHK-6)", async () => {
  const { world, infer, tools, request } = await asked();
  await infer.send(
    starts(request, 0, "tool_use", { name: "read" }),
    stops(request, 0, { type: "tool_use", name: "read", input: null, malformed: "{path: 1}" }),
    inferResult(request, "tool_use"),
  );
  assert.deepEqual(tools.all("bb_tool_call_request"), []);
  const again = infer.last("bb_infer_request");
  assert.match(JSON.stringify(again["messages"]), /not valid JSON\. They were: \{path: 1\}/);
  await infer.send(inferResult(again));
  await world.end();
});

test("blocks may have any index: what is between them is nothing, in the transcript and after an interrupt (CHK-1, INT-5)", async () => {
  const { world, infer, tools, ui, request } = await asked();
  await infer.send(
    deltas(request, 7, "text", "seven"),
    stops(request, 7),
    starts(request, 2, "tool_use", { name: "read" }),
    deltas(request, 2, "tool_use", "{}"),
    stops(request, 2),
    inferResult(request, "tool_use"),
  );
  await tools.send(toolResult(tools.last("bb_tool_call_request"), "x"));
  const next = infer.last("bb_infer_request");
  const [, said] = next["messages"] as { content: Blocks }[];
  assert.deepEqual(
    said!.content.map(({ type }) => type),
    ["tool_use", "text"],
  );
  await infer.send(deltas(next, 4, "text", "four"), stops(next, 4), deltas(next, 9, "text", "ni"));
  await ui.send({ event_type: "interrupt", scope: "u" });
  await infer.send(inferResult(next));
  await ui.send(message("and now"));
  const after = infer.last("bb_infer_request");
  assert.deepEqual(
    (after["messages"] as { content: Blocks }[]).at(-2)!.content.map(({ text }) => text),
    ["four", "ni"],
  );
  await infer.send(inferResult(after));
  await world.end();
});

test("a call of which something was refused does not run on what is left of it; noise beside it is no part of it (CHK-6)", async () => {
  const whole = (input: unknown) => ({ type: "tool_use", id: "toolu_1", name: "read", input });
  const refused: [string, (request: Event) => Event[], boolean][] = [
    ["its end, of a wrong type", (request) => [stops(request, 0, { ...whole({}), name: 7 })], false],
    ["its end, with what no event may hold", (request) => [stops(request, 0, whole({ n: 2 ** 53 }))], false],
    [
      "a delta",
      (request) => [
        deltas(request, 0, "tool_use", '{"path":"a'),
        deltas(request, 0, "text", "/b"),
        deltas(request, 0, "tool_use", '"}'),
        stops(request, 0),
      ],
      false,
    ],
    [
      "a delta, and its end has it all",
      (request) => [deltas(request, 0, "text", "x"), stops(request, 0, whole({ path: "a" }))],
      true,
    ],
    [
      "another event",
      (request) => [{ event_type: "bb_infer_what", in_reply_to: request["id"] }, stops(request, 0)],
      true,
    ],
  ];
  for (const [what, rest, runs] of refused) {
    const { world, infer, tools, request } = await asked();
    await infer.send(
      starts(request, 0, "tool_use", { name: "read" }),
      ...rest(request),
      inferResult(request, "tool_use"),
    );
    assert.equal(infer.all("bb_error").length, 1, what);
    assert.equal(tools.all("bb_tool_call_request").length, runs ? 1 : 0, what);
    if (runs) await tools.send(toolResult(tools.last("bb_tool_call_request"), "done"));
    const again = infer.last("bb_infer_request");
    if (!runs) assert.match(JSON.stringify(again["messages"]), /a part of it was refused on its way here/, what);
    await infer.send(inferResult(again));
    await world.end();
  }
});

test("a result of an inference that does not fit its schema ends the turn at once, and says which field (TRN-4)", async () => {
  const { world, infer, ui, request } = await asked();
  await infer.send({
    event_type: "bb_infer_result",
    in_reply_to: request["id"],
    success: true,
    usage: { input_tokens: -1 },
  });
  assert.equal(infer.last("bb_error")["code"], "invalid_event");
  const { stop_reason, error } = ui.last("infer_chunk") as unknown as {
    stop_reason: string;
    error: { code: string; message: string };
  };
  assert.deepEqual([stop_reason, error.code], ["error", "invalid_params"]);
  assert.match(error.message, /usage\.input_tokens/);
  await ui.send(message("and now?"));
  await infer.send(inferResult(infer.last("bb_infer_request")));
  await world.end();
});
