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

const openai = { capabilities: { api_shape: "openai" } };

const rendered = (request: Event, fields: Record<string, unknown> = {}): Event => ({
  event_type: "bb_context_render_result",
  in_reply_to: request["id"],
  success: true,
  ...fields,
});

const thinkingChunks = (request: Event, thinking: string, signature?: string, index = 0): Event[] => {
  const place = { event_type: "infer_chunk", in_reply_to: request["id"], index };
  const block = { type: "thinking", thinking, ...(signature === undefined ? {} : { signature }) };
  return [
    { ...place, kind: "block_start", block_type: "thinking" },
    { ...place, kind: "block_delta", block_type: "thinking", delta: thinking },
    { ...place, kind: "block_stop", block },
  ];
};

const errorOf = (ui: Peer): { code: string; message: string } =>
  ui.last("infer_chunk")["error"] as { code: string; message: string };

/** The blocks of one type in what the infer was last sent. */
const sent = (infer: Peer, type: string): Record<string, unknown>[] =>
  (infer.last("bb_infer_request")["messages"] as { content: Record<string, unknown>[] }[])
    .flatMap(({ content }) => content)
    .filter((block) => block["type"] === type);

test("an infer of the openai shape is asked in it; its answer, the log and the UIs stay canonical (CNV-1, CNV-2)", async () => {
  const world = new World();
  const context = await world.join("context");
  const infer = await world.join("infer", {}, openai);
  const tools = await world.join("toolsource");
  const ui = await world.join("ui");
  await tools.send(register("read"));
  await ui.send(message("go"));
  const choice = { system: "Be brief.", tool_choice: { type: "any" }, model: "m", params: { temperature: 0 } };
  await context.send(rendered(context.last("bb_context_render_request"), choice));
  const first = infer.last("bb_infer_request");
  const { api_shape, system, messages, tools: offered, tool_choice, model, params } = first;
  assert.deepEqual(
    [api_shape, system, tool_choice, model, params],
    ["openai", undefined, "required", "m", { temperature: 0 }],
  );
  assert.deepEqual(messages, [
    { role: "system", content: "Be brief." },
    { role: "user", content: "go" },
  ]);
  const parameters = { type: "object", properties: { path: { type: "string" } } };
  assert.deepEqual(offered, [{ type: "function", function: { name: "read", description: "read", parameters } }]);
  await infer.send(
    ...textChunks(first, "reading"),
    ...toolChunks(first, "read", { path: "a" }, 1),
    inferResult(first, "tool_use"),
  );
  const call = tools.last("bb_tool_call_request");
  await tools.send(toolResult(call, "content of a"));
  const second = context.last("bb_context_render_request");
  assert.equal(second["api_shape"], undefined, "the context is asked as before");
  assert.deepEqual((second["history"] as { content: unknown }[])[1]!.content, [
    { type: "text", text: "reading" },
    { type: "tool_use", id: call["call_id"], name: "read", input: { path: "a" } },
  ]);
  await context.send(rendered(second));
  assert.deepEqual((infer.last("bb_infer_request")["messages"] as unknown[]).slice(1), [
    {
      role: "assistant",
      content: "reading",
      tool_calls: [{ id: call["call_id"], type: "function", function: { name: "read", arguments: '{"path":"a"}' } }],
    },
    { role: "tool", tool_call_id: call["call_id"], content: "content of a" },
  ]);
  await infer.send(inferResult(infer.last("bb_infer_request")));
  assert.deepEqual(ui.last("tool_call")["input"], { path: "a" });
  await world.end();
});

test("a context of the openai shape gets its history and tools in it and answers in it, whatever the infer takes (CNV-1, CNV-2)", async () => {
  for (const capabilities of [{}, { api_shape: "openai" }]) {
    const world = new World();
    const context = await world.join("context", {}, openai);
    const infer = await world.join("infer", {}, { capabilities });
    const tools = await world.join("toolsource");
    const ui = await world.join("ui");
    await tools.send(register("read", "write"));
    await ui.send(message("go"));
    const asked = context.last("bb_context_render_request");
    assert.deepEqual([asked["api_shape"], asked["history"]], ["openai", [{ role: "user", content: "go" }]]);
    const offered = asked["tools"] as { function: { name: string } }[];
    await context.send(
      rendered(asked, {
        api_shape: "openai",
        system: "One.",
        messages: [
          { role: "system", content: "Two." },
          { role: "user", content: "go" },
          { role: "user", content: [{ type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }] },
        ],
        tools: [offered[1]],
        tool_choice: { type: "function", function: { name: "write" } },
      }),
    );
    const { system, messages, tools: given, tool_choice } = infer.last("bb_infer_request");
    const names = (given as { name?: string; function?: { name: string } }[]).map(
      (tool) => tool.name ?? tool.function?.name,
    );
    assert.deepEqual(names, ["write"]);
    if (capabilities.api_shape === "openai") {
      const image = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } };
      assert.deepEqual(messages, [
        { role: "system", content: "One.\n\nTwo." },
        { role: "user", content: [{ type: "text", text: "go" }, image] },
      ]);
      assert.deepEqual(tool_choice, { type: "function", function: { name: "write" } });
    } else {
      const image = { type: "image", mime_type: "image/png", data: "AAAA" };
      assert.equal(system, "One.\n\nTwo.");
      assert.deepEqual(messages, [{ role: "user", content: [{ type: "text", text: "go" }, image] }]);
      assert.deepEqual(tool_choice, { type: "tool", name: "write" });
    }
    await infer.send(inferResult(infer.last("bb_infer_request")));
    await world.end();
  }
});

test("a render that nobody can read ends its turn at once, and says which field is wrong (CNV-2)", async () => {
  const world = new World();
  const context = await world.join("context", {}, openai);
  await world.join("infer");
  const ui = await world.join("ui");
  const cases: [Record<string, unknown>, RegExp][] = [
    [{ api_shape: "openai", messages: [{ role: "user", content: "a" }, { role: "robot" }] }, /"messages\.1\.role"/],
    [
      { api_shape: "openai", messages: [{ role: "user", content: [{ type: "image_url", image_url: {} }] }] },
      /"messages\.0\.content\.0\.image_url\.url"/,
    ],
    [
      {
        api_shape: "openai",
        messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: "https://x.test/a.png" } }] }],
      },
      /"messages\.0\.content\.0\.image_url\.url": the Hub fetches nothing/,
    ],
    [{ messages: [{ role: "user", content: [{ type: "text" }] }] }, /"messages\.0\.content\.0\.text"/],
    [{ api_shape: "gemini" }, /"api_shape"/],
  ];
  for (const [fields, why] of cases) {
    await ui.send(message("go"));
    await context.send(rendered(context.last("bb_context_render_request"), fields));
    assert.equal(errorOf(ui).code, "invalid_params");
    assert.match(errorOf(ui).message, why);
    assert.equal(ui.last("scope_state")["state"], "idle");
  }
  // An answer to something else, or from somebody else, ends nothing.
  await ui.send(message("go"));
  await context.send(rendered({ event_type: "", id: "r_other" }, { api_shape: "gemini" }));
  assert.equal(ui.last("scope_state")["state"], "running");
  await ui.send({ event_type: "interrupt", scope: "u" });
  await world.end();
});

test("messages that break the rules are refused with what is wrong, and the conversation goes on (CNV-9)", async () => {
  const world = new World();
  const context = await world.join("context");
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  await ui.send(message("go"));
  const messages = [{ role: "user", content: [{ type: "tool_result", tool_use_id: "c_9", content: [] }] }];
  await context.send(rendered(context.last("bb_context_render_request"), { messages }));
  assert.equal(errorOf(ui).code, "invalid_params");
  assert.match(errorOf(ui).message, /the result of "c_9" does not follow its call/);
  assert.equal(infer.all("bb_infer_request").length, 0);
  await ui.send(message("again"));
  await context.send(rendered(context.last("bb_context_render_request")));
  assert.equal(sent(infer, "text").length, 2);
  await infer.send(inferResult(infer.last("bb_infer_request")));
  await world.end();
});

test("signed thinking goes back byte for byte to the model that wrote it, and to no other (CNV-8)", async () => {
  const world = new World();
  const context = await world.join("context");
  const one = await world.join("infer", { name: "one" });
  const two = await world.join("infer", { name: "two" });
  const tools = await world.join("toolsource");
  const ui = await world.join("ui");
  await tools.send(register("read"));
  const thinking = "hm \u2028 \u00e9 \ud83d\ude00";
  const signature = "EqQB+/=\u2029";
  await ui.send(message("go"));
  await context.send(rendered(context.last("bb_context_render_request"), { model: "m1" }));
  const asked = one.last("bb_infer_request");
  const claimed = thinkingChunks(asked, thinking, signature).map((chunk) =>
    chunk["kind"] === "block_stop" ? { ...chunk, block: { ...(chunk["block"] as object), origin: "two/m1" } } : chunk,
  );
  await one.send(...claimed, ...toolChunks(asked, "read", {}, 1), inferResult(asked, "tool_use"));
  await tools.send(toolResult(tools.last("bb_tool_call_request"), "text"));

  const block = { type: "thinking", thinking, signature };
  const render = context.last("bb_context_render_request");
  const history = render["history"] as { content: Record<string, unknown>[] }[];
  assert.deepEqual(
    history[1]!.content[0],
    { ...block, origin: "one/m1" },
    "what an infer claims to be counts for nothing",
  );
  await context.send(rendered(render, { model: "m1" }));
  assert.deepEqual(sent(one, "thinking"), [block]);
  await one.send(inferFailure(one.last("bb_infer_request"), { code: "overloaded", retryable: true }));
  await world.pass(1000);
  assert.equal(one.last("bb_infer_request")["attempt"], 1);
  assert.deepEqual(sent(one, "thinking"), [block], "an attempt sends the same again");
  await one.send(...textChunks(one.last("bb_infer_request"), "ok"), inferResult(one.last("bb_infer_request")));

  const choices: [Record<string, unknown>, Peer, number][] = [
    [{ model: "m2" }, one, 0],
    [{}, one, 0],
    [{ infer: "two", model: "m1" }, two, 0],
    [{ model: "m1" }, one, 1],
  ];
  for (const [choice, infer, kept] of choices) {
    await ui.send(message("more"));
    await context.send(rendered(context.last("bb_context_render_request"), choice));
    assert.equal(sent(infer, "thinking").length, kept, JSON.stringify(choice));
    await infer.send(...textChunks(infer.last("bb_infer_request"), "ok"), inferResult(infer.last("bb_infer_request")));
  }
  // A context may know nothing of origin: what it gives back is known by its signature. What it made up is not.
  await ui.send(message("more"));
  const last = context.last("bb_context_render_request");
  const mine = [
    { role: "user", content: [{ type: "text", text: "go" }] },
    { role: "assistant", content: [block, { ...block, signature: "forged" }, { type: "text", text: "ok" }] },
    { role: "user", content: [{ type: "text", text: "more" }] },
  ];
  await context.send(rendered(last, { model: "m1", messages: mine }));
  assert.deepEqual(sent(one, "thinking"), [block]);
  await one.send(inferResult(one.last("bb_infer_request")));
  await world.end();
});

test("after a change of the infer's own model its earlier thinking stays behind (CNV-8)", async () => {
  const world = new World();
  const ui = await world.join("ui");
  const seen: number[] = [];
  for (const model of ["m1", "m1", "m2"]) {
    const infer = await world.join("infer", {}, { capabilities: { model } });
    await ui.send(message("go"));
    seen.push(sent(infer, "thinking").length);
    const asked = infer.last("bb_infer_request");
    await infer.send(...thinkingChunks(asked, "hm", "s"), ...textChunks(asked, "ok", 1), inferResult(asked));
    await infer.link.close("restart");
    await world.settle();
  }
  assert.deepEqual(seen, [0, 1, 0]);
  await world.end();
});

test("after an interrupt, a failure or a lost link the next request is one that a strict provider takes (CNV-6, CNV-8)", async () => {
  const ends: Record<string, (world: World, infer: Peer, ui: Peer) => Promise<unknown>> = {
    interrupt: async (_world, infer, ui) => {
      await ui.send({ event_type: "interrupt", scope: "u" });
      return infer.send(inferFailure(infer.last("bb_infer_request"), { code: "cancelled" }));
    },
    "an interrupt that the infer ignores": async (world, _infer, ui) => {
      await ui.send({ event_type: "interrupt", scope: "u" });
      return world.pass(1000);
    },
    failure: (_world, infer) => infer.send(inferFailure(infer.last("bb_infer_request"), { code: "internal" })),
  };
  const starts: Record<string, (request: Event) => Event[]> = {
    nothing: () => [],
    "a blank text": (request) => textChunks(request, "\n"),
    "half a thought": (request) => thinkingChunks(request, "hm").slice(0, 2),
    "a signed thought": (request) => thinkingChunks(request, "hm", "s"),
    "a thought without a signature": (request) => thinkingChunks(request, "hm"),
    "half a text": (request) => textChunks(request, "hal").slice(0, 2),
    "half a call": (request) => toolChunks(request, "read", { path: "a" }).slice(0, 2),
    "a thought and half a call": (request) => [
      ...thinkingChunks(request, "hm", "s"),
      ...toolChunks(request, "read", {}, 1).slice(0, 2),
    ],
  };
  for (const [how, end] of Object.entries(ends)) {
    for (const [what, start] of Object.entries(starts)) {
      for (const capabilities of [{}, { api_shape: "openai" }]) {
        const world = new World();
        const infer = await world.join("infer", {}, { capabilities });
        const ui = await world.join("ui");
        await ui.send(message("one"));
        await infer.send(...start(infer.last("bb_infer_request")));
        await end(world, infer, ui);
        assert.equal(ui.last("scope_state")["state"], "idle", `${how} after ${what}`);
        await ui.send(message("two"));
        const messages = infer.last("bb_infer_request")["messages"] as { role: string }[];
        const roles = what === "half a text" ? ["user", "assistant", "user"] : ["user"];
        assert.deepEqual(
          messages.map(({ role }) => role),
          roles,
          `${how} after ${what}`,
        );
        await infer.send(inferResult(infer.last("bb_infer_request")));
        await world.end();
      }
    }
  }
});

test("what an infer makes up does not spoil the conversation: names, results, arguments, blank text (CNV-6, CNV-7)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  await ui.send(message("go"));
  const asked = infer.last("bb_infer_request");
  const place = { event_type: "infer_chunk", in_reply_to: asked["id"], kind: "block_stop" };
  await infer.send(
    { ...place, index: 0, block: { type: "tool_result", tool_use_id: "c_1", content: [] } },
    { ...place, index: 1, block: { type: "text", text: " " } },
    { ...place, index: 2, block: { type: "tool_use", id: "x", name: "no such.tool", input: [1] } },
    { ...place, index: 3, block: { type: "tool_use", id: "x", name: "", input: null } },
    { ...place, index: 4, block: { type: "image", mime_type: "image/png", data: "" } },
    inferResult(asked, "tool_use"),
  );
  const uses = sent(infer, "tool_use");
  assert.deepEqual(
    uses.map(({ name, input }) => [name, input]),
    [
      ["no_such_tool", {}],
      ["_", {}],
    ],
  );
  assert.equal(sent(infer, "tool_result").length, 2);
  await infer.send(...textChunks(infer.last("bb_infer_request"), "ok"), inferResult(infer.last("bb_infer_request")));
  assert.equal(ui.last("infer_chunk")["stop_reason"], "end_turn");
  await world.end();
});

test("when another infer takes over an attempt, it is asked in its own shape (CNV-1)", async () => {
  const world = new World();
  const one = await world.join("infer", { name: "one" }, openai);
  const two = await world.join("infer", { name: "two" });
  const ui = await world.join("ui");
  await ui.send(message("go"));
  assert.equal(one.last("bb_infer_request")["api_shape"], "openai");
  await one.link.close("killed");
  await world.pass(1000);
  const { attempt, api_shape, messages } = two.last("bb_infer_request");
  assert.deepEqual([attempt, api_shape], [1, undefined]);
  assert.deepEqual(messages, [{ role: "user", content: [{ type: "text", text: "go" }] }]);
  await two.send(inferResult(two.last("bb_infer_request")));
  await world.end();
});

test("a shape that nobody knows is refused by its name (CON-10)", async () => {
  const world = new World();
  for (const kind of ["infer", "context"] as const) {
    for (const api_shape of ["gemini", 7, { openai: {} }]) {
      const peer = await world.join(kind, {}, { capabilities: { api_shape } });
      const { code, message: why } = peer.last("bb_error");
      assert.equal(code, "unavailable");
      assert.ok(String(why).includes(JSON.stringify(api_shape)), String(why));
    }
  }
  const ui = await world.join("ui", {}, { capabilities: { api_shape: "gemini" } });
  assert.equal(ui.all("bb_sync_ack").length, 1, "of a ui it means nothing");
  await world.end();
});

test("input that says nothing is refused (INP-1)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  await ui.send(message(" \n\t", "u", { id: "m1" }));
  assert.equal(ui.last("bb_error")["code"], "invalid_params");
  const image = { type: "image", mime_type: "image/png", data: "" };
  await ui.send({
    event_type: "user_event",
    type: "message",
    scope: "u",
    content: [{ type: "text", text: "" }, image],
  });
  assert.equal(ui.all("bb_error").length, 2);
  assert.equal(ui.all("user_event").length + infer.all("bb_infer_request").length, 0);
  await world.end();
});
