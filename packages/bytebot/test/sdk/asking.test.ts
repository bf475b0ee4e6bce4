import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import * as bb from "../../src/sdk/index.ts";
import { validate } from "../../src/wire/index.ts";
import { synced, type Peer } from "./peer.ts";

async function answered(peer: Peer, value: unknown): Promise<bb.Event> {
  const question = await peer.next("bb_input_request");
  validate(question);
  const answer = { event_type: "bb_input_result", in_reply_to: String(question["id"]), success: true };
  peer.send({ ...answer, outcome: "accepted", value });
  return question;
}

test("satellite.ask within a tool's run is about its call, however deep it is called (QUE-1)", async () => {
  await using running = await synced({ kind: "toolsource" }, (satellite) => {
    const sure = async (what: string) => {
      await Promise.resolve();
      return satellite.ask(null, { prompt: `${what}?`, schema: z.object({ sure: z.boolean() }) });
    };
    const run = async ({ path }: { path: string }) => (await sure(path)).value as object;
    satellite.tool(bb.defineTool({ name: "remove", input: z.object({ path: z.string() }), run }));
  });
  const { peer } = running;
  const registered = await peer.next("bb_tool_register");
  peer.send({ event_type: "bb_tool_register_result", in_reply_to: String(registered["id"]), success: true });
  for (const [call_id, path, scope] of [
    ["c1", "a", "u_1"],
    ["c2", "b", "u_2"],
  ] as const)
    peer.send({ event_type: "bb_tool_call_request", call_id, name: "remove", input: { path }, scope, loop_id: "l" });
  const questions = [await answered(peer, { sure: true }), await answered(peer, { sure: false })];
  assert.deepEqual(
    questions.map(({ call_id, scope, prompt }) => [call_id, scope, prompt]),
    [
      ["c1", "u_1", "a?"],
      ["c2", "u_2", "b?"],
    ],
  );
  assert.deepEqual((questions[0]!["schema"] as { required: string[] }).required, ["sure"]);
  const results = [await peer.next("bb_tool_call_result"), await peer.next("bb_tool_call_result")];
  assert.deepEqual(
    results.map(({ content }) => (content as { text: string }[])[0]!.text),
    ['{"sure":true}', '{"sure":false}'],
  );
});

test("what another satellite of the same process asks is not about the call of the tool that made it ask", async () => {
  await using context = await synced({ kind: "context" }, () => undefined);
  await using tools = await synced({ kind: "toolsource" }, (satellite) => {
    const run = () => context.satellite.ask("u_9", { prompt: "And you?" });
    satellite.tool(bb.defineTool({ name: "pass", inputSchema: { type: "object" }, run }));
  });
  const registered = await tools.peer.next("bb_tool_register");
  tools.peer.send({ event_type: "bb_tool_register_result", in_reply_to: String(registered["id"]), success: true });
  tools.peer.send({ event_type: "bb_tool_call_request", call_id: "c1", name: "pass", input: {}, scope: "u_1" });
  const question = await answered(context.peer, "so am I");
  assert.deepEqual([question["scope"], question["call_id"]], ["u_9", undefined]);
  assert.match(JSON.stringify((await tools.peer.next("bb_tool_call_result"))["content"]), /so am I/);
});

test("satellite.ask in a context's render asks in the scope of that render (QUE-1)", async () => {
  await using running = await synced({ kind: "context" }, (satellite) => {
    satellite.onRender(async () => {
      const { outcome, value } = await satellite.ask(null, { prompt: "Which tone?", options: ["dry", "warm"] });
      return { system: `${outcome}: ${String(value)}` };
    });
  });
  const { peer } = running;
  const request = { event_type: "bb_context_render_request", id: "r_1", scope: "u_1", loop_id: "l", round: 0 };
  peer.send({ ...request, tools: [], history: [], history_whole: true });
  const question = await answered(peer, "dry");
  assert.deepEqual([question["scope"], question["call_id"], question["options"]], ["u_1", undefined, ["dry", "warm"]]);
  assert.equal((await peer.next("bb_context_render_result"))["system"], "accepted: dry");
});
