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

interface Message {
  role: string;
  content: unknown[];
}

const incremental = { capabilities: { history: { incremental: {} } } };

const rendered = (request: Event, fields: Record<string, unknown> = {}): Event => ({
  event_type: "bb_context_render_result",
  in_reply_to: request["id"],
  success: true,
  ...fields,
});

/** What a context keeps that does as the rule says. */
function take(kept: Message[], request: Event): Message[] {
  if (request["history_whole"] === true) kept = [];
  for (const { role, content } of structuredClone(request["history"] as Message[])) {
    const last = kept.at(-1);
    if (last?.role === role) last.content.push(...content);
    else kept.push({ role, content });
  }
  return kept;
}

/** What it is sent, in short: whole or not, and the roles of the messages. */
const shown = (context: Peer): [boolean, string[]] => {
  const { history_whole, history } = context.last("bb_context_render_request");
  return [history_whole === true, (history as Message[]).map(({ role, content }) => `${role} ${content.length}`)];
};

async function answer(infer: Peer): Promise<void> {
  const asked = infer.last("bb_infer_request");
  await infer.send(...textChunks(asked, "ok"), inferResult(asked));
}

test("a context that takes increments gets each message once, and what it has is the whole (HIS-1)", async () => {
  const world = new World();
  const context = await world.join("context", {}, incremental);
  const infer = await world.join("infer");
  const tools = await world.join("toolsource");
  const ui = await world.join("ui");
  await tools.send(register("read"));
  let kept: Message[] = [];
  const turn = async (more?: () => Promise<unknown>): Promise<void> => {
    const request = context.last("bb_context_render_request");
    kept = take(kept, request);
    await more?.();
    await context.send(rendered(request));
    assert.deepEqual(infer.last("bb_infer_request")["messages"], kept, "the Hub's own default is the whole");
  };
  await ui.send(message("one"));
  assert.deepEqual(shown(context), [true, ["user 1"]]);
  await turn();
  const asked = infer.last("bb_infer_request");
  await infer.send(...toolChunks(asked, "read", {}), inferResult(asked, "tool_use"));
  await ui.send(message("hurry", "u", { mode: "steer" }));
  await tools.send(toolResult(tools.last("bb_tool_call_request"), "text"));
  assert.deepEqual(shown(context), [false, ["assistant 1", "user 2"]]);
  await turn();
  await infer.send(inferFailure(infer.last("bb_infer_request"), { code: "internal" }));
  // Nothing was answered: what is said next grows the message that was shown before.
  await ui.send(message("two"));
  assert.deepEqual(shown(context), [false, ["user 1"]]);
  await turn();
  await answer(infer);
  await ui.send(message("three"));
  assert.deepEqual(shown(context), [false, ["assistant 1", "user 1"]]);
  await turn();
  await answer(infer);
  assert.deepEqual(
    kept.map(({ role, content }) => `${role} ${content.length}`),
    ["user 1", "assistant 1", "user 3", "assistant 1", "user 1"],
  );
  await world.end();
});

test("the history is whole again after an interrupt, a failed render and a reconnect, and for who did not ask for less (HIS-1)", async () => {
  const world = new World();
  let context = await world.join("context", {}, incremental);
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  const turn = async (text: string): Promise<void> => {
    await ui.send(message(text));
    await context.send(rendered(context.last("bb_context_render_request")));
    await answer(infer);
  };
  await turn("one");
  await turn("two");
  assert.equal(shown(context)[0], false);

  await ui.send(message("three"));
  await context.send(rendered(context.last("bb_context_render_request")));
  await ui.send({ event_type: "interrupt", scope: "u" });
  await infer.send(inferFailure(infer.last("bb_infer_request"), { code: "cancelled" }));
  await turn("after an interrupt");
  assert.deepEqual(shown(context), [true, ["user 1", "assistant 1", "user 1", "assistant 1", "user 2"]]);
  await turn("four");
  assert.equal(shown(context)[0], false);

  await ui.send(message("five"));
  const error = { code: "internal", message: "it fell over", retryable: false };
  await context.send(rendered(context.last("bb_context_render_request"), { success: false, error }));
  await turn("after a failed render");
  assert.equal(shown(context)[0], true);

  await ui.send(message("six"));
  await ui.send({ event_type: "interrupt", scope: "u" });
  await turn("after an interrupted render");
  assert.equal(shown(context)[0], true);

  await turn("seven");
  assert.equal(shown(context)[0], false);
  await context.link.close("killed");
  await world.settle();
  context = await world.join("context", {}, incremental);
  await turn("after a reconnect");
  assert.equal(shown(context)[0], true);

  await ui.send(message("elsewhere", "u/other"));
  assert.deepEqual(shown(context), [true, ["user 1"]], "each conversation has its own");
  await context.send(rendered(context.last("bb_context_render_request")));
  await answer(infer);
  await turn("eight");
  assert.equal(shown(context)[0], false);

  await context.link.close("killed");
  context = await world.join("context", {}, { capabilities: { history: {} } });
  await turn("nine");
  await turn("ten");
  assert.equal(shown(context)[0], true);
  await world.end();
});

test("a context that has lost what an increment goes on from says so, and gets the whole, once (HIS-3)", async () => {
  const world = new World();
  const context = await world.join("context", {}, incremental);
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  await ui.send(message("one"));
  await context.send(rendered(context.last("bb_context_render_request")));
  await answer(infer);
  const error = { code: "cursor_expired", message: "gone", retryable: false };
  await ui.send(message("two"));
  const increment = context.last("bb_context_render_request");
  assert.equal(increment["history_whole"], false);
  await context.send(rendered(increment, { success: false, error }));
  const whole = context.last("bb_context_render_request");
  assert.notEqual(whole["id"], increment["id"]);
  assert.deepEqual([whole["loop_id"], whole["round"]], [increment["loop_id"], increment["round"]]);
  assert.deepEqual(shown(context), [true, ["user 1", "assistant 1", "user 1"]]);
  await context.send(rendered(whole));
  await answer(infer);
  await ui.send(message("three"));
  assert.equal(shown(context)[0], false);
  await context.send(rendered(context.last("bb_context_render_request"), { success: false, error }));
  await context.send(rendered(context.last("bb_context_render_request"), { success: false, error }));
  assert.deepEqual(ui.last("infer_chunk")["error"], error, "a whole one cannot go on from anything that is gone");
  await world.end();
});

test("an increment has the context's shape too (HIS-1, CNV-2)", async () => {
  const world = new World();
  const capabilities = { ...incremental.capabilities, api_shape: "openai" };
  const context = await world.join("context", {}, { capabilities });
  const infer = await world.join("infer");
  const tools = await world.join("toolsource");
  const ui = await world.join("ui");
  await tools.send(register("read"));
  await ui.send(message("one"));
  await context.send(rendered(context.last("bb_context_render_request"), { api_shape: "openai" }));
  const asked = infer.last("bb_infer_request");
  await infer.send(...toolChunks(asked, "read", {}), inferResult(asked, "tool_use"));
  const call = tools.last("bb_tool_call_request");
  await tools.send(toolResult(call, "text"));
  const { history, history_whole } = context.last("bb_context_render_request");
  const tool_calls = [{ id: call["call_id"], type: "function", function: { name: "read", arguments: "{}" } }];
  assert.equal(history_whole, false);
  assert.deepEqual(history, [
    { role: "assistant", content: null, tool_calls },
    { role: "tool", tool_call_id: call["call_id"], content: "text" },
  ]);
  await context.send(rendered(context.last("bb_context_render_request"), { api_shape: "openai" }));
  await answer(infer);
  await world.end();
});
