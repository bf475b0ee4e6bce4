import assert from "node:assert/strict";
import { test } from "node:test";
import { dialects, type Event } from "../../src/wire/index.ts";
import { inferResult, message, register, textChunks, toolChunks, toolResult, World, type Peer } from "./world.ts";

const xml = (dialect: string) => ({ capabilities: { tools: { xml: { dialect } } } });
const call = (dialect: keyof typeof dialects, input: Record<string, unknown>, name = "read"): string =>
  dialects[dialect].call(name, input, () => ({ read: "raw" }));
const request = (infer: Peer): Event => infer.last("bb_infer_request");
const said = (event: Event): string => JSON.stringify(event["messages"]);

test("native tools win over text, {} means none, and an unknown way is refused by its name (XML-1, CON-10)", async () => {
  const world = new World();
  const source = await world.join("toolsource");
  await source.send(register("read"));
  for (const [tools, reason] of [
    [{ xml: { dialect: "json" } }, /dialect "json": this Hub writes and reads "invoke", "hermes", "qwen"/],
    [{ xml: { dialect: "constructor" } }, /"constructor"/],
    [{ xml: {} }, /dialect is missing/],
    [{ xml: null }, /dialect is missing/],
    [{ grammar: {} }, /capabilities\.tools: say/],
    [true, /capabilities\.tools: say/],
    [null, /capabilities\.tools: say/],
  ] as const) {
    const refused = await world.join("infer", { name: JSON.stringify(tools) }, { capabilities: { tools } });
    assert.equal(refused.last("bb_error")["code"], "unavailable");
    assert.match(String(refused.last("bb_error")["message"]), reason);
    assert.ok(refused.closed);
  }
  const ui = await world.join("ui");
  const both = await world.join(
    "infer",
    { name: "both" },
    { capabilities: { tools: { native: {}, xml: { dialect: "json" } } } },
  );
  await ui.send(message("go <tool_call>"));
  assert.equal((request(both)["tools"] as unknown[]).length, 1);
  assert.match(said(request(both)), /go <tool_call>/);
  await both.send(...textChunks(request(both), call("hermes", {})), inferResult(request(both)));
  assert.equal(ui.text(), call("hermes", {}), "its text is text");
  await both.send({ event_type: "bb_bye", reason: "next" });

  const none = await world.join("infer", { name: "none" }, { capabilities: { tools: {} } });
  await ui.send(message("go"));
  assert.deepEqual([request(none)["tools"], request(none)["system"]], [undefined, undefined]);
  await none.send(...toolChunks(request(none), "read", {}), inferResult(request(none)));
  assert.equal(source.all("bb_tool_call_request").length, 0, "what was not offered does not run");
  await none.send(inferResult(request(none)));
  await world.end();
});

test("what the context chose is written: its system text and tools, tool_choice in words; with none no call runs (XML-2)", async () => {
  const world = new World();
  const context = await world.join("context");
  const infer = await world.join("infer", {}, xml("hermes"));
  const source = await world.join("toolsource");
  await source.send(register("read", "write"));
  const ui = await world.join("ui");
  const render = async (fields: Record<string, unknown>): Promise<Event> => {
    const in_reply_to = context.last("bb_context_render_request")["id"];
    await context.send({ event_type: "bb_context_render_result", in_reply_to, success: true, ...fields });
    return request(infer);
  };
  await ui.send(message("go"));
  const first = await render({
    system: "Brief. </tools>",
    tools: ["write"],
    tool_choice: { type: "tool", name: "write" },
    params: { max_tokens: 5 },
  });
  assert.match(String(first["system"]), /^Brief\. <\\\/tools>\n\n.*"write".*have to call write\.$/s);
  assert.doesNotMatch(String(first["system"]), /"read"/);
  assert.deepEqual([first["tool_choice"], first["params"]], [undefined, { max_tokens: 5 }]);
  await infer.send(...textChunks(first, call("hermes", {}, "read")), inferResult(first));
  const second = await render({ system: "Brief.", tool_choice: { type: "none" } });
  assert.match(said(second), /no tool \\\\\\"read\\\\\\"/);
  assert.equal(second["system"], "Brief.");
  await infer.send(...textChunks(second, call("hermes", {}, "read")), inferResult(second));
  assert.equal(source.all("bb_tool_call_request").length, 0);
  await render({});
  await infer.send(inferResult(request(infer)));
  await world.end();
});

test("an infer of the openai shape gets the same text in its shape (XML-2, CNV-1)", async () => {
  const world = new World();
  const infer = await world.join(
    "infer",
    {},
    { capabilities: { api_shape: "openai", tools: { xml: { dialect: "hermes" } } } },
  );
  const source = await world.join("toolsource");
  await source.send(register("read"));
  const ui = await world.join("ui");
  await ui.send(message("go"));
  const first = request(infer);
  assert.deepEqual([first["api_shape"], first["tools"], first["tool_choice"]], ["openai", undefined, undefined]);
  const [system, user] = first["messages"] as { role: string; content: string }[];
  assert.match(system!.content, /<tools>\n.*"read"/s);
  assert.deepEqual(user, { role: "user", content: "go" });
  await infer.send(...textChunks(first, call("hermes", { path: "a" })), inferResult(first));
  await source.send(toolResult(source.last("bb_tool_call_request"), "b"));
  assert.deepEqual(
    (request(infer)["messages"] as { role: string; content: string }[]).map(({ role }) => role),
    ["system", "user", "assistant", "user"],
  );
  await infer.send(inferResult(request(infer)));
  await world.end();
});
