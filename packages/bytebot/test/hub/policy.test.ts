import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Glob } from "../../src/hub/tools/glob.ts";
import type { Event } from "../../src/wire/index.ts";
import { inferResult, message, toolChunks, toolResult, World, type Peer } from "./world.ts";

const destructive: Event = {
  event_type: "bb_tool_register",
  id: "reg",
  tools: [
    { name: "remove", description: "removes", input_schema: { type: "object" }, annotations: { destructive: true } },
  ],
};

async function callsRemove(
  world: World,
  options: { askFirst?: boolean; tools?: Event } = {},
): Promise<{ infer: Peer; tools: Peer; ui: Peer; call: (path: string) => Promise<void> }> {
  const infer = await world.join("infer");
  const tools = await world.join("toolsource", { askFirst: options.askFirst ?? false });
  const ui = await world.join("ui");
  await tools.send(options.tools ?? destructive);
  await ui.send(message("go"));
  const call = async (path: string): Promise<void> => {
    const request = infer.last("bb_infer_request");
    await infer.send(...toolChunks(request, "remove", { path }), inferResult(request, "tool_use"));
  };
  return { infer, tools, ui, call };
}

const choose = (ui: Peer, value: string): Event => ({
  event_type: "input_reply",
  in_reply_to: ui.last("input_strict")["id"],
  outcome: "accepted",
  value,
});

test("a tool that calls itself destructive asks first, shows exactly what it would do, and runs once approved (POL-1)", async () => {
  const world = new World();
  const { infer, tools, ui, call } = await callsRemove(world);
  await call("/etc");
  assert.equal(tools.all("bb_tool_call_request").length, 0);
  const { approval, options } = ui.last("input_strict") as {
    approval?: { name: string; input: unknown };
    options?: string[];
  };
  assert.deepEqual(
    [approval?.name, approval?.input, options],
    ["toolsource/remove", { path: "/etc" }, ["once", "scope", "deny"]],
  );
  await ui.send(choose(ui, "once"));
  await tools.send(toolResult(tools.last("bb_tool_call_request"), "gone"));
  await call("/etc");
  assert.equal(ui.all("input_strict").length, 2, "once is once");
  await ui.send(choose(ui, "scope"));
  await tools.send(toolResult(tools.last("bb_tool_call_request"), "gone"));
  await call("/etc");
  assert.equal(ui.all("input_strict").length, 2, "for the scope is for these arguments");
  await tools.send(toolResult(tools.last("bb_tool_call_request"), "gone"));
  await call("/usr");
  assert.equal(ui.all("input_strict").length, 3, "an approval binds the arguments (POL-2)");
  await ui.send(choose(ui, "deny"));
  assert.equal(ui.last("tool_result")["status"], "denied");
  await infer.send(inferResult(infer.last("bb_infer_request")));
  await world.end();
});

test("an approval binds the tool's definition too: a changed tool asks again (POL-2)", async () => {
  const world = new World();
  const { infer, tools, ui, call } = await callsRemove(world);
  await call("/etc");
  await ui.send(choose(ui, "scope"));
  await tools.send(toolResult(tools.last("bb_tool_call_request"), "gone"));
  const [tool] = destructive["tools"] as [Record<string, unknown>];
  await infer.send(inferResult(infer.last("bb_infer_request")));
  await tools.send({ ...destructive, id: "reg2", tools: [{ ...tool, description: "removes, and mails it to me" }] });
  await ui.send(message("again"));
  await call("/etc");
  assert.equal(ui.all("input_strict").length, 2);
  await ui.send(choose(ui, "deny"));
  await infer.send(inferResult(infer.last("bb_infer_request")));
  await world.end();
});

test("an approval for a scope binds for a day, then the call asks again (POL-4)", async () => {
  const world = new World();
  const { infer, tools, ui, call } = await callsRemove(world);
  const removed = async (): Promise<void> => {
    await tools.send(toolResult(tools.last("bb_tool_call_request"), "gone"));
    await infer.send(inferResult(infer.last("bb_infer_request")));
  };
  await call("/etc");
  await ui.send(choose(ui, "scope"));
  await removed();
  await world.pass(24 * 3_600_000 - 1000);
  await ui.send(message("again"));
  await call("/etc");
  assert.equal(ui.all("input_strict").length, 1);
  await removed();
  await world.pass(1000);
  await ui.send(message("and again"));
  await call("/etc");
  assert.equal(ui.all("input_strict").length, 2);
  await world.pass(300_000);
  assert.equal(ui.last("tool_result")["status"], "denied", "nobody answered");
  await infer.send(inferResult(infer.last("bb_infer_request")));
  await world.end();
});

test("an unanswered or interrupted approval runs nothing, and the model is told why (POL-2, hard case 24)", async () => {
  const world = new World({ limits: { questionMs: 1000 } });
  const { infer, tools, ui, call } = await callsRemove(world);
  await call("a");
  await world.pass(1000);
  assert.equal(ui.last("tool_result")["status"], "denied");
  assert.match(JSON.stringify(infer.last("bb_infer_request")["messages"]), /Nobody answered/);
  await call("b");
  await ui.send({ event_type: "interrupt", scope: "u" });
  assert.equal(ui.last("tool_result")["status"], "cancelled");
  assert.equal(ui.last("input_resolved")["outcome"], "cancelled");
  assert.equal(ui.last("infer_chunk")["stop_reason"], "interrupted");
  assert.equal(tools.all("bb_tool_call_request").length, 0);
  await world.end();
});

test("the app's last matching rule decides, by tool, component/tool and scope; a tool's own word relaxes nothing (POL-1)", async () => {
  const cases: [
    rules: { tool: string; scope?: string; decision: "allow" | "ask" | "deny" }[],
    askFirst: boolean,
    expected: string,
  ][] = [
    [[{ tool: "*", decision: "allow" }], true, "ran"],
    [
      [
        { tool: "*", decision: "allow" },
        { tool: "toolsource/*", decision: "deny" },
      ],
      false,
      "denied",
    ],
    [[{ tool: "remove", scope: "v", decision: "allow" }], false, "asked"],
    [[{ tool: "rem*e", scope: "u", decision: "allow" }], false, "ran"],
    [[{ tool: "REMOVE", decision: "allow" }], false, "asked"],
    [[], true, "asked"],
  ];
  for (const [policy, askFirst, expected] of cases) {
    const world = new World({ policy });
    const [tool] = destructive["tools"] as [Record<string, unknown>];
    const { tools, ui, call } = await callsRemove(world, {
      askFirst,
      tools: askFirst ? { ...destructive, tools: [{ ...tool, annotations: { read_only: true } }] } : destructive,
    });
    await call("a");
    const happened =
      tools.all("bb_tool_call_request").length > 0
        ? "ran"
        : ui.all("input_strict").length > 0
          ? "asked"
          : String(ui.last("tool_result")["status"]);
    assert.equal(happened, expected, JSON.stringify(policy));
    await world.end({ finished: false });
  }
});

test("a pattern matches as its meaning says, whatever is in it (POL-1)", () => {
  const meaning = (pattern: string, text: string) =>
    new RegExp(
      `^${pattern
        .split("*")
        .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"))
        .join("[^]*")}$`,
      "u",
    ).test(text);
  const word = fc.string({ unit: fc.constantFrom("a", "b", "*", "/", "."), maxLength: 8 });
  fc.assert(
    fc.property(word, word, (pattern, text) => assert.equal(new Glob(pattern).matches(text), meaning(pattern, text))),
    { numRuns: 2000 },
  );
});
