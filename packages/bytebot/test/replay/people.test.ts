import assert from "node:assert/strict";
import { test } from "node:test";
import { inferResult, message, toolChunks, toolResult } from "../hub/world.ts";
import { App, logOf, replayed, toFile } from "./recorded.ts";

test("a recording with people, approvers, what is remembered, and rules about arguments comes out the same", async () => {
  const app = await App.open({
    policy: [
      { tool: "*", decision: "deny" },
      { tool: "*", input: { "/path": "/work/*" }, decision: "allow" },
      { tool: "erase", decision: "ask", approvers: ["kim"], remember_ms: 3_600_000 },
    ],
  });
  const { world, infer, tools } = app;
  const kim = await world.join("ui", { name: "kims", principal: "kim" });
  const eve = await world.join("ui", { name: "eves", principal: "eve" });
  tools.react = (event) => {
    if (event.event_type === "bb_tool_call_request") tools.link.send(toolResult(event, "done"));
  };
  await kim.send(message("go", "u_7f3a"));
  for (const [name, path] of [
    ["erase", "a"],
    ["erase", "a"],
    ["erase", "b"],
  ] as const) {
    const request = infer.last("bb_infer_request");
    const long = `${path}${"x".repeat(2000)}`;
    await infer.send(
      ...toolChunks(request, "read", { path: "/work/a" }, 0),
      ...toolChunks(request, "read", { path: "/etc" }, 1),
      ...toolChunks(request, "write", { path: long }, 2),
      ...toolChunks(request, "write", { path: "/work/b" }, 3),
      ...toolChunks(request, name, { path }, 4),
      inferResult(request, "tool_use"),
    );
    const question = eve.last("input_strict");
    const reply = { event_type: "input_reply", in_reply_to: question["id"], outcome: "accepted" };
    await eve.send({ ...reply, value: "once" });
    await kim.send({ ...reply, value: path === "a" ? "remember" : "deny" });
  }
  await infer.send(inferResult(infer.last("bb_infer_request")));
  await eve.send(message("and I?", "u_7f3a"), { event_type: "interrupt", id: "i1", scope: "u_7f3a" });
  await infer.send(inferResult(infer.last("bb_infer_request")));
  const log = await logOf(world);
  await world.end();
  const allowed = log.filter(({ event_type, name }) => event_type === "bb_tool_call_request" && name === "erase");
  assert.deepEqual(
    allowed.map(({ approved_by }) => approved_by),
    ["kim", "kim"],
  );
  const [first, ...others] = await replayed(toFile(log));
  assert.deepEqual([first?.found?.difference, others.length], [undefined, 0]);
});
