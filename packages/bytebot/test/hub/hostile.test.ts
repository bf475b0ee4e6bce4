import assert from "node:assert/strict";
import { test } from "node:test";
import type { Event } from "../../src/wire/index.ts";
import { inferResult, message, register, toolChunks, toolResult, World, type Peer } from "./world.ts";

async function calling(world: World): Promise<{ infer: Peer; tools: Peer; ui: Peer; owner: Peer }> {
  const infer = await world.join("infer");
  const tools = await world.join("toolsource");
  const ui = await world.join("ui");
  const owner = await world.join("ui", { name: "owner", owner: true }, { owner: true, types: [] });
  await tools.send(register("read", "write"));
  await ui.send(message("go"));
  const request = infer.last("bb_infer_request");
  await infer.send(...toolChunks(request, "read", {}), inferResult(request, "tool_use"));
  return { infer, tools, ui, owner };
}

test("interrupts again and again do not put off the end of a tool that ignores them (INT-4)", async () => {
  const world = new World();
  const { ui } = await calling(world);
  for (let at = 0; at < 3; at++) {
    await ui.send({ event_type: "interrupt", scope: "u" });
    await world.pass(400);
  }
  assert.equal(ui.last("infer_chunk")["stop_reason"], "interrupted");
  await world.end();
});

test("a call begun after an interrupt is not ended with it, and one beside a turn is ended without it (INT-1, INT-4)", async () => {
  const world = new World();
  const { infer, tools, ui, owner } = await calling(world);
  const call = { event_type: "bb_tool_call_request", name: "write", input: {}, scope: "u" };
  await owner.send({ ...call, id: "before" });
  await ui.send({ event_type: "interrupt", scope: "u" });
  await world.pass(300);
  await owner.send({ ...call, id: "after" });
  const [, , after] = tools.all("bb_tool_call_request");
  await world.pass(700);
  assert.deepEqual(
    owner.all("bb_tool_call_result").map(({ in_reply_to, status }) => [in_reply_to, status]),
    [["before", "cancelled"]],
  );
  await world.pass(5000);
  await tools.send(toolResult(after!, "done"));
  assert.deepEqual(
    [owner.last("bb_tool_call_result")["in_reply_to"], owner.last("bb_tool_call_result")["status"]],
    ["after", "ok"],
  );
  assert.equal(infer.all("bb_infer_request").length, 1);
  await world.end();
});

test("a tool that is defined anew while the person decides does not run on that approval (POL-2)", async () => {
  const world = new World({ policy: [{ tool: "read", decision: "ask" }] });
  const { infer, tools, ui } = await calling(world);
  const [tool] = register("read")["tools"] as [Record<string, unknown>];
  await tools.send({
    event_type: "bb_tool_register",
    id: "again",
    tools: [{ ...tool, description: "something else" }],
  });
  await ui.send({
    event_type: "input_reply",
    in_reply_to: ui.last("input_strict")["id"],
    outcome: "accepted",
    value: "once",
  });
  assert.equal(tools.all("bb_tool_call_request").length, 0);
  assert.match(JSON.stringify(ui.last("tool_result")["content"]), /removed or changed/);
  await infer.send(inferResult(infer.last("bb_infer_request")));
  await world.end();
});

test("arguments nested deeper than any line may be never run, and the turn goes on (CHK-6, hard case 5)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const tools = await world.join("toolsource");
  const ui = await world.join("ui");
  await tools.send(register("read"));
  await ui.send(message("go"));
  const request = infer.last("bb_infer_request");
  const of = { event_type: "infer_chunk", in_reply_to: request["id"], index: 0, block_type: "tool_use" };
  const delta = `{"a":${"[".repeat(20_000)}${"]".repeat(20_000)}}`;
  await infer.send(
    { ...of, kind: "block_start", name: "read" },
    { ...of, kind: "block_delta", delta },
    inferResult(request, "tool_use"),
  );
  assert.equal(ui.last("tool_result")["status"], "error");
  assert.equal(tools.all("bb_tool_call_request").length, 0);
  await infer.send(inferResult(infer.last("bb_infer_request")));
  await world.end();
});

test("a round of many or of large blocks is logged whole (LOG-2)", async () => {
  for (const content of [
    Array.from({ length: 300 }, (_, index) => ({ type: "text", text: String(index) })),
    Array.from({ length: 6 }, () => ({ type: "text", text: "x".repeat(60_000) })),
  ]) {
    const world = new World();
    const infer = await world.join("infer");
    const ui = await world.join("ui");
    await ui.send(message("go"));
    await infer.send({ ...inferResult(infer.last("bb_infer_request")), content });
    assert.equal(ui.last("infer_chunk")["stop_reason"], "end_turn");
    await ui.send({ event_type: "bb_history_request", id: "h", scope: "u", limit: 1000 });
    const events = ui.last("bb_history_result")["events"] as { kind?: string; block?: Event }[];
    const blocks = events.filter(({ kind }) => kind === "block_stop").map(({ block }) => block!);
    assert.deepEqual(blocks as unknown, content);
    await world.hub.close();
  }
});

test("a schema cannot keep the Hub busy: its patterns are the tool's own affair, its references are counted (TOL-7)", async () => {
  const world = new World();
  const tools = await world.join("toolsource");
  const owner = await world.join("ui", { owner: true }, { owner: true });
  const define = (id: string, input_schema: object): Event => ({
    event_type: "bb_tool_register",
    id,
    tools: [{ name: "t", input_schema }],
  });
  const refs = Array.from({ length: 40 }, (_, index) => [
    `a${index}`,
    { allOf: [{ $ref: `#/$defs/a${index + 1}` }, { $ref: `#/$defs/a${index + 1}` }] },
  ]);
  await tools.send(define("r1", { $defs: Object.fromEntries([...refs, ["a40", {}]]), $ref: "#/$defs/a0" }));
  assert.equal(tools.last("bb_error")["code"], "invalid_params");
  await tools.send(
    define("r2", {
      type: "object",
      properties: { a: { type: "string", pattern: "^(a+)+$" }, pattern: { type: "number" } },
    }),
  );
  const call = { event_type: "bb_tool_call_request", scope: "u", name: "t" };
  await owner.send({ ...call, id: "q1", input: { a: `${"a".repeat(60)}!` } });
  await tools.send(toolResult(tools.last("bb_tool_call_request"), "done"));
  await owner.send({ ...call, id: "q2", input: { pattern: "no number" } });
  assert.equal(
    owner.last("bb_tool_call_result")["status"],
    "error",
    "a property of that name is checked like any other",
  );
  await world.end();
});
