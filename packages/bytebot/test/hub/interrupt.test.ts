import assert from "node:assert/strict";
import { test } from "node:test";
import type { Event } from "../../src/wire/index.ts";
import {
  inferFailure,
  inferResult,
  message,
  register,
  textChunks,
  toolChunks,
  toolResult,
  World,
  type Peer,
} from "./world.ts";

interface Cast {
  world: World;
  context: Peer | undefined;
  infer: Peer;
  tools: Peer;
  ui: Peer;
}

async function cast({ withContext = false } = {}): Promise<Cast> {
  const world = new World({ limits: { graceMs: 1000, retryMs: 5000 } });
  const context = withContext ? await world.join("context") : undefined;
  const infer = await world.join("infer");
  const tools = await world.join("toolsource");
  const ui = await world.join("ui");
  await tools.send(register("read"));
  return { world, context, infer, tools, ui };
}

const interrupt = (scope = "u", id = `x_${scope}`): Event => ({ event_type: "interrupt", id, scope, reason: "enough" });

/** A provider takes it: no empty blocks, roles in turn, every call with its result. */
function checkAccepted(
  messages: { role: string; content: { type: string; id?: string; tool_use_id?: string; text?: string }[] }[],
): void {
  for (const [index, { role, content }] of messages.entries()) {
    assert.equal(role, index % 2 === 0 ? "user" : "assistant");
    assert.ok(content.length > 0);
    for (const block of content) assert.ok(block.type !== "text" || block.text !== "");
    const calls = content.filter(({ type }) => type === "tool_use").map(({ id }) => id);
    const results = messages[index + 1]?.content
      .filter(({ type }) => type === "tool_result")
      .map(({ tool_use_id }) => tool_use_id);
    if (calls.length > 0) assert.deepEqual(results, calls);
  }
}

/** The points of hard case 17 at which a turn is interrupted; each leaves the turn there. */
const points: Record<string, (cast: Cast) => Promise<void>> = {
  "before the first chunk": async () => {},
  "in thinking": async ({ infer }) => {
    const request = infer.last("bb_infer_request");
    await infer.send({
      event_type: "infer_chunk",
      kind: "block_start",
      index: 0,
      block_type: "thinking",
      in_reply_to: request["id"],
    });
  },
  "in text": async ({ infer }) => {
    await infer.send(...textChunks(infer.last("bb_infer_request"), "so far").slice(0, 2));
  },
  "in arguments": async ({ infer }) => {
    await infer.send(...toolChunks(infer.last("bb_infer_request"), "read", { path: "a" }).slice(0, 2));
  },
  "between call and execution": async ({ infer }) => {
    await infer.send(...toolChunks(infer.last("bb_infer_request"), "read", { path: "a" }));
  },
  "in a tool": async ({ infer }) => {
    const request = infer.last("bb_infer_request");
    await infer.send(...toolChunks(request, "read", { path: "a" }), inferResult(request, "tool_use"));
  },
  "between result and next request": async ({ infer, tools }) => {
    const request = infer.last("bb_infer_request");
    await infer.send(...toolChunks(request, "read", { path: "a" }), inferResult(request, "tool_use"));
    await tools.send(toolResult(tools.last("bb_tool_call_request"), "a"));
  },
  "in a retry wait": async ({ infer }) => {
    await infer.send(inferFailure(infer.last("bb_infer_request"), { code: "overloaded", retryable: true }));
  },
};

for (const [name, reach] of Object.entries(points)) {
  test(`an interrupt ${name} ends the turn once, as interrupted, and the next message is accepted (INT-1, hard case 17)`, async () => {
    const here = await cast();
    const { world, infer, ui } = here;
    await ui.send(message("go"));
    await reach(here);
    await ui.send(interrupt());
    assert.equal(ui.last("bb_ack")["in_reply_to"], "x_u");
    await world.pass(1000);
    const ends = ui.all("infer_chunk").filter(({ kind }) => kind === "loop_done");
    assert.deepEqual(
      ends.map(({ stop_reason }) => stop_reason),
      ["interrupted"],
    );
    assert.equal(ui.last("scope_state")["state"], "idle");
    const calls = ui.all("tool_call").map(({ call_id }) => call_id);
    assert.deepEqual(
      ui.all("tool_result").map(({ call_id }) => call_id),
      calls,
    );
    await world.pass(10_000);
    await ui.send(message("and now?"));
    const request = infer.last("bb_infer_request");
    checkAccepted(request["messages"] as never);
    await infer.send(...textChunks(request, "fine"), inferResult(request));
    assert.equal(ui.last("infer_chunk")["stop_reason"], "end_turn");
    await world.end();
  });
}

test("an interrupt while the context renders ends the turn at once (INT-1, hard case 17)", async () => {
  const { world, context, infer, ui } = await cast({ withContext: true });
  await ui.send(message("go"));
  const request = context!.last("bb_context_render_request");
  await ui.send(interrupt());
  assert.equal(ui.last("infer_chunk")["stop_reason"], "interrupted");
  assert.equal(context!.last("bb_cancel")["target"], request["id"]);
  await context!.send({ event_type: "bb_context_render_result", in_reply_to: request["id"], success: true });
  assert.equal(infer.all("bb_infer_request").length, 0, "a late render starts nothing");
  await world.end();
});

test("an interrupt before any infer has synced, or of an idle scope, is acknowledged and breaks nothing (hard case 17)", async () => {
  const world = new World();
  const ui = await world.join("ui");
  await ui.send(interrupt("u"));
  assert.equal(ui.last("bb_ack")["in_reply_to"], "x_u");
  assert.equal(ui.all("infer_chunk").length, 0);
  await world.end();
});

test("the text that was seen stays in the transcript, marked; half a call and unsigned thinking do not (INT-5)", async () => {
  const { world, infer, ui } = await cast();
  await ui.send(message("go"));
  const request = infer.last("bb_infer_request");
  const of = { in_reply_to: request["id"], event_type: "infer_chunk" };
  await infer.send(
    { ...of, kind: "block_start", index: 0, block_type: "thinking" },
    { ...of, kind: "block_delta", index: 0, block_type: "thinking", delta: "hm" },
  );
  await infer.send(...textChunks(request, "I will", 1).slice(0, 2), ...toolChunks(request, "read", {}, 2).slice(0, 2));
  await ui.send(interrupt());
  await infer.send({ ...of, kind: "block_delta", index: 1, block_type: "text", delta: " not be seen" });
  await infer.send(inferFailure(request, { code: "cancelled" }));
  assert.equal(ui.text(), "I will");
  await ui.send(message("go on"));
  const messages = infer.last("bb_infer_request")["messages"] as { content: unknown[] }[];
  assert.deepEqual(messages[1]!.content, [{ type: "text", text: "I will", interrupted: true }]);
  await infer.send(inferResult(infer.last("bb_infer_request")));
  await world.end();
});

test("an infer and a tool that ignore bb_cancel are ended by the Hub after the grace, the effect called unknown (INT-4, hard case 18)", async () => {
  const { world, infer, tools, ui } = await cast();
  await ui.send(message("go"));
  await ui.send(interrupt());
  assert.equal(infer.last("bb_cancel")["target"], infer.last("bb_infer_request")["id"]);
  assert.equal(ui.all("infer_chunk").length, 0, "within the grace it may still answer");
  await world.pass(1000);
  assert.equal(ui.last("infer_chunk")["stop_reason"], "interrupted");
  await ui.send(message("use the tool"));
  const request = infer.last("bb_infer_request");
  await infer.send(...toolChunks(request, "read", { path: "a" }), inferResult(request, "tool_use"));
  const call = tools.last("bb_tool_call_request");
  await ui.send(interrupt("u", "x_2"));
  assert.equal(tools.last("bb_cancel")["target"], call["call_id"]);
  await world.pass(1000);
  const result = ui.last("tool_result");
  assert.equal(result["status"], "cancelled");
  assert.equal(result["synthetic"], true);
  assert.match(JSON.stringify(result["content"]), /effect is not known/);
  await tools.send(toolResult(call, "too late"));
  assert.equal(ui.all("tool_result").length, 1);
  assert.deepEqual(tools.all("bb_error"), [], "a late answer is no offence");
  await world.end();
});

test("an answer within the grace counts: the tool says what it did (INT-3)", async () => {
  const { world, infer, tools, ui } = await cast();
  await ui.send(message("go"));
  const request = infer.last("bb_infer_request");
  await infer.send(...toolChunks(request, "read", { path: "a" }), inferResult(request, "tool_use"));
  await ui.send(interrupt());
  await tools.send(toolResult(tools.last("bb_tool_call_request"), "it was done"));
  assert.equal(ui.last("tool_result")["status"], "ok");
  assert.equal(ui.last("infer_chunk")["stop_reason"], "interrupted");
  assert.equal(infer.all("bb_infer_request").length, 1);
  await world.end();
});

test("one scope among 200 is interrupted: only it and its children stop, and a late child revives nothing (INT-1, hard case 22)", async () => {
  const { world, infer, ui } = await cast();
  const scopes = Array.from({ length: 200 }, (_, index) => `t${index}`);
  for (const scope of [...scopes, "t7/~child", "t7/c_2", "t70"])
    if (!scope.startsWith("t70") || scope === "t70") ui.link.send(message("go", scope));
  await world.settle();
  const requests = infer.all("bb_infer_request");
  for (const request of requests) infer.link.send(textChunks(request, "streaming").at(0)!);
  await ui.send(interrupt("t7"));
  await world.pass(1000);
  const ended = ui.all("infer_chunk").filter(({ kind }) => kind === "loop_done");
  assert.deepEqual(new Set(ended.map(({ scope }) => scope)), new Set(["t7", "t7/~child", "t7/c_2"]));
  assert.equal(infer.all("bb_cancel").length, 3);
  for (const request of requests) infer.link.send(inferResult(request));
  await world.settle();
  const states = ui
    .all("scope_state")
    .filter(({ state, scope }) => state === "running" && String(scope).startsWith("t7/"));
  assert.equal(states.length, 2, "each ran once");
  await world.pass(1000);
  await world.end({ finished: false });
});

test("an interrupt returns what was queued, to be sent again or not (INT-2)", async () => {
  const { world, infer, ui } = await cast();
  await ui.send(
    message("one", "u", { id: "m1" }),
    message("two", "u", { id: "m2" }),
    message("three", "u", { id: "m3", mode: "steer" }),
  );
  assert.deepEqual(
    ui.all("bb_ack").map(({ fate }) => fate),
    ["started", "queued", "steering"],
  );
  await ui.send(interrupt());
  await infer.send(inferFailure(infer.last("bb_infer_request"), { code: "cancelled" }));
  assert.deepEqual(
    ui.all("input_state").map(({ id, fate }) => [id, fate]),
    [
      ["m2", "returned"],
      ["m3", "returned"],
    ],
  );
  assert.equal(infer.all("bb_infer_request").length, 1);
  assert.equal(ui.last("scope_state")["state"], "idle");
  await world.end();
});
