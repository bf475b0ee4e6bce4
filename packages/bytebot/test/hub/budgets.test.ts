import assert from "node:assert/strict";
import { test } from "node:test";
import type { Event } from "../../src/wire/index.ts";
import { goOn, restarted } from "./restart.ts";
import { inferResult, message, register, textChunks, toolChunks, toolResult, World, type Peer } from "./world.ts";

const usage = { input_tokens: 90, output_tokens: 10 };
const codeOf = ({ error }: Event): unknown => (error as { code?: string } | undefined)?.code;
const ended = (ui: Peer): Event => ui.all("infer_chunk").findLast(({ kind }) => kind === "loop_done")!;
const toolResults = (ui: Peer): unknown[] => ui.all("tool_result").map((event) => [event["status"], codeOf(event)]);

/** An infer that calls `read` in the first round and ends in the second, 100 tokens each. */
async function calling(world: World): Promise<Peer> {
  const infer = await world.join("infer");
  infer.react = (request) => {
    if (request.event_type !== "bb_infer_request") return;
    const events =
      request["round"] === 0
        ? [
            ...toolChunks(request, "read", { path: String(request["scope"]) }),
            { ...inferResult(request, "tool_use"), usage },
          ]
        : [...textChunks(request, "done"), { ...inferResult(request), usage }];
    for (const event of events) infer.link.send(event);
  };
  return infer;
}

async function reading(world: World): Promise<Peer> {
  const tools = await world.join("toolsource");
  tools.react = (request) => {
    if (request.event_type === "bb_tool_call_request") tools.link.send(toolResult(request, "read"));
  };
  return tools.send(register("read"));
}

test("a tenant has so many turns in an hour, whoever asks for them, and gets them anew in the next (QTA-6)", async () => {
  const world = new World({ budgets: { "*": { turns: 2, per: "hour" } } });
  await calling(world);
  await reading(world);
  const ui = await world.join("ui");
  await ui.send(message("one", "u/a"));
  await ui.send(message("two", "u/b"));
  await ui.send(message("three", "u/a"));
  assert.equal(codeOf(ended(ui)), "budget_exceeded");
  assert.match(JSON.stringify(ended(ui)), /2 of 2 turns in this hour, until 2023-11-14T23:00:00.000Z/);
  await ui.send(message("of another tenant", "v"));
  assert.equal(ended(ui)["stop_reason"], "end_turn");
  await world.pass(60 * 60 * 1000);
  await ui.send(message("four", "u/a"));
  assert.equal(ended(ui)["stop_reason"], "end_turn");
  await world.end();
});

test("a call beyond the budget does not run, the model is told why, and the turn goes on (QTA-6)", async () => {
  const world = new World({ budgets: { u: { calls: 1 } } });
  await calling(world);
  const tools = await reading(world);
  const ui = await world.join("ui", { controller: true });
  await ui.send(message("one", "u/a"));
  await ui.send(message("two", "u/b"));
  assert.deepEqual(toolResults(ui), [
    ["ok", undefined],
    ["error", "budget_exceeded"],
  ]);
  assert.equal(tools.all("bb_tool_call_request").length, 1);
  assert.equal(ended(ui)["stop_reason"], "end_turn");
  await ui.send({ event_type: "bb_tool_call_request", id: "x", scope: "u/c", name: "read", input: {} });
  assert.equal(codeOf(ui.last("bb_tool_call_result")), "budget_exceeded");
  await world.end();
});

test("tokens are looked at before each call too: what an inference has used up, its calls do not spend (QTA-6)", async () => {
  const world = new World({ budgets: { u: { tokens: 100 } } });
  await calling(world);
  const tools = await reading(world);
  const ui = await world.join("ui");
  await ui.send(message("one", "u"));
  assert.deepEqual(toolResults(ui), [["error", "budget_exceeded"]]);
  assert.equal(tools.all("bb_tool_call_request").length, 0);
  assert.equal(codeOf(ended(ui)), "budget_exceeded");
  await world.end();
});

test("what was used is known after a restart, also of conversations that nobody has addressed since (QTA-6)", async () => {
  const budgets = { u: { tokens: 350, per: "day" as const } };
  const world = new World({ budgets });
  await calling(world);
  await reading(world);
  const ui = await world.join("ui");
  await ui.send(message("one", "u/a"));
  const after = await restarted(world.log, { budgets });
  await goOn(after);
  await calling(after);
  await reading(after);
  const back = await after.join("ui");
  await back.send(message("two", "u/b"));
  assert.equal(ended(back)["stop_reason"], "end_turn");
  await back.send(message("three", "u/c"));
  assert.equal(codeOf(ended(back)), "budget_exceeded");
  await after.pass(24 * 60 * 60 * 1000);
  await back.send(message("four", "u/c"));
  assert.equal(ended(back)["stop_reason"], "end_turn");
  await after.end();
  await world.end({ finished: false });
});

test("a tenant whose conversations have all left the memory has used what it has used (QTA-6, REC-7)", async () => {
  const world = new World({ budgets: { "*": { turns: 1 } }, limits: { idle: 1 } });
  await calling(world);
  await reading(world);
  const ui = await world.join("ui");
  for (const tenant of ["u", "v", "w"]) await ui.send(message("one", tenant));
  assert.ok(world.hub.counts()["budgets"]! <= 2);
  await ui.send(message("two", "u"));
  assert.equal(codeOf(ended(ui)), "budget_exceeded");
  await world.end();
});

/** A tool that asks for a child turn, and answers with how that ended. */
async function delegating(world: World, budget: Record<string, unknown> | undefined): Promise<Peer> {
  const tools = await world.join("toolsource");
  tools.react = (event) => {
    const { call_id, scope } = event;
    if (event.event_type === "bb_tool_call_request") {
      const child = `${String(scope)}/~sub`;
      if (String(scope).includes("~")) return tools.link.send(toolResult(event, "read"));
      tools.link.send({
        ...{ event_type: "bb_turn_request", id: `t_${String(call_id)}`, call_id, scope: child, content: "look" },
        ...(budget ? { budget } : {}),
      });
    } else if (event.event_type === "bb_turn_result") {
      const call = tools.last("bb_tool_call_request");
      const first = tools.all("bb_tool_call_request").find((each) => !String(each["scope"]).includes("~")) ?? call;
      tools.link.send(toolResult(first, `${String(event["stop_reason"])} ${String(codeOf(event))}`));
    }
  };
  return tools.send(register("read"));
}

for (const [budget, said] of [
  [undefined, "end_turn undefined"],
  [{ rounds: 1 }, "error budget_exceeded"],
  [{ rounds: 2 }, "end_turn undefined"],
  [{ calls: 0 }, "error budget_exceeded"],
  [{ calls: 1 }, "end_turn undefined"],
  [{ tokens: 100 }, "error budget_exceeded"],
  [{ tokens: 101 }, "end_turn undefined"],
] as const)
  test(`a child turn with the budget ${JSON.stringify(budget)} ends as: ${said} (TRN-13)`, async () => {
    const world = new World();
    await calling(world);
    await delegating(world, budget);
    const ui = await world.join("ui");
    await ui.send(message("go", "u"));
    const [result] = ui.all("tool_result").filter(({ scope }) => scope === "u");
    assert.equal((result!["content"] as Event[])[0]!["text"], said);
    assert.equal(ended(ui)["stop_reason"], "end_turn", "the turn that asked for it goes on");
    await world.end();
  });

test("what a child turn uses counts to the turn around it, and both are known after a restart (TRN-13)", async () => {
  const world = new World();
  const infer = await calling(world);
  const tools = await world.join("toolsource");
  await tools.send(register("read"));
  const desk = await world.join("ui", { controller: true });
  const ask = { event_type: "bb_turn_request", id: "t", scope: "u", content: "go", budget: { tokens: 300 } };
  await desk.send(ask);
  const call = tools.last("bb_tool_call_request");
  const child = { event_type: "bb_turn_request", id: "k", call_id: call["call_id"], scope: "u/~a", content: "look" };
  await tools.send(child);
  await tools.send(toolResult(tools.last("bb_tool_call_request"), "read"));
  assert.equal(tools.last("bb_turn_result")["success"], true);
  // 100 of its own and 200 of the child's: the next round is one too many.
  const { conversations } = world.hub["core"];
  assert.equal(conversations.get("u")!.turn!.tokens, 300);
  await tools.send(toolResult(call, "looked"));
  assert.equal(codeOf(desk.last("bb_turn_result")), "budget_exceeded");
  assert.equal(infer.all("bb_infer_request").length, 3);
  await world.end();
});

/** A turn whose tool waits for its child turn, which waits for its own tool. */
async function waiting(world: World): Promise<{ ui: Peer; tools: Peer }> {
  await calling(world);
  const tools = await world.join("toolsource");
  await tools.send(register("read"));
  const ui = await world.join("ui");
  await ui.send(message("go", "u"));
  const { call_id } = tools.last("bb_tool_call_request");
  await tools.send({ event_type: "bb_turn_request", id: "k", call_id, scope: "u/~a", content: "look" });
  return { ui, tools };
}

test("a child turn is stopped with the turn around it (TRN-12, INT-1)", async () => {
  const world = new World();
  const { ui, tools } = await waiting(world);
  await ui.send({ event_type: "interrupt", scope: "u" });
  await world.pass(2000);
  assert.equal(tools.last("bb_turn_result")["success"], false);
  assert.equal(ended(ui)["stop_reason"], "interrupted");
  await world.end();
});

test("a child turn is not gone on with by the next Hub, as nobody waits for it any more (TRN-12, REC-4)", async () => {
  const world = new World();
  await waiting(world);
  const after = await restarted(world.log);
  await calling(after);
  const back = await after.join("ui");
  await goOn(after);
  await after.pass(40_000);
  const ends = back.all("infer_chunk").filter(({ kind }) => kind === "loop_done");
  assert.deepEqual(
    ends.map(({ scope, stop_reason }) => [scope, stop_reason]),
    [
      ["u/~a", "interrupted"],
      ["u", "end_turn"],
    ],
  );
  await after.end();
  await world.end({ finished: false });
});

test("an input that says it is a request of somebody's is a person's, before a restart and after it (ENV-6, REC-3)", async () => {
  const world = new World();
  await world.join("infer");
  const ui = await world.join("ui");
  const claims = { request_id: "t_1", call_id: "c_1", budget: null };
  await ui.send(message("go", "u", { id: "m1", ...claims }), message("more", "u", { id: "m2", ...claims }));
  const after = await restarted(world.log);
  await calling(after);
  await reading(after);
  const back = await after.join("ui");
  await goOn(after);
  await after.pass(2000);
  assert.equal(back.all("infer_chunk").filter(({ kind }) => kind === "loop_done").length, 2);
  await after.end();
  await world.end({ finished: false });
});
