import {
  BytebotError,
  type Block,
  type ErrorCode,
  type Event,
  type ToolCallRequest,
  type ToolCallResult,
  type ToolProgress,
  type WireError,
} from "../wire/index.ts";
import type { Core } from "./core.ts";
import { textBlock } from "./history.ts";
import { decide } from "./policy.ts";
import { cancelQuestions, open } from "./questions.ts";
import { reply } from "./seen.ts";
import type { Call, CallStatus, Conversation, Synced, Tool } from "./state.ts";
import { canonical, findTool, idOf, servedBy } from "./tools.ts";

type ToolUse = Extract<Block, { type: "tool_use" }>;

/** The calls of a finished inference, in the order of its blocks: each gets exactly one result (rules TRN-5 and TOL-5). */
export function callsOf(
  core: Core,
  loopId: string,
  uses: readonly ToolUse[],
  offered: ReadonlyMap<string, Tool>,
): Call[] {
  return uses.map((use) => {
    const tool = offered.get(use.name);
    return newCall(use.id ?? core.newId("c"), tool, use.name, use.input, loopId);
  });
}

function newCall(id: string, tool: Tool | undefined, modelName: string, input: unknown, loopId?: string): Call {
  const name = tool?.definition.name ?? modelName;
  return { id, tool, name, modelName, input, loopId, state: "asking", to: undefined, deadline: undefined, left: 0 };
}

/** Checks one call and runs it, asks for it, or ends it at once with the reason. `refusal`: why it cannot run at all. */
export function begin(core: Core, conversation: Conversation, call: Call, refusal?: string): void {
  conversation.calls.set(call.id, call);
  const { tool } = call;
  if (refusal !== undefined) return refused(core, conversation, call, "error", refusal);
  if (!tool) return refused(core, conversation, call, "error", `There is no tool "${call.modelName}" in this request.`);
  const server = servedBy(core, tool.componentId);
  const current = core.tools.get(tool.componentId)?.find((other) => other.modelName === tool.modelName);
  if (!server || current?.hash !== tool.hash) {
    return refused(
      core,
      conversation,
      call,
      "error",
      `The tool "${call.modelName}" was removed or changed since it was offered.`,
    );
  }
  const wrong = tool.validate(call.input);
  if (wrong !== undefined)
    return refused(core, conversation, call, "error", `The arguments do not fit the tool's schema. ${wrong}`);
  const decision = decide(core.policy, tool, conversation.scope, server.grant.askFirst);
  if (decision === "deny")
    return refused(core, conversation, call, "denied", "The policy of this app does not allow this call.");
  if (decision === "allow" || conversation.approved.has(approvalKey(tool, call.input)))
    return run(core, conversation, call, server);
  const approval = { name: idOf(tool), input: call.input, tool_hash: tool.hash };
  const fields = { prompt: `Run ${approval.name}?`, options: ["once", "scope", "deny"], approval, call_id: call.id };
  open(core, conversation, { type: "approval", call }, fields);
}

/** An approval binds this tool as it is and exactly these arguments (rule POL-2). */
function approvalKey(tool: Tool, input: unknown): string {
  return `${tool.hash} ${canonical(input)}`;
}

export function approvalGiven(
  core: Core,
  conversation: Conversation,
  call: Call,
  choice: string,
  outcome: string,
): void {
  if (call.state !== "asking") return;
  const { tool } = call;
  const server = tool && servedBy(core, tool.componentId);
  if (choice === "scope" && tool) conversation.approved.add(approvalKey(tool, call.input));
  if (choice !== "once" && choice !== "scope") {
    const why = { expired: "Nobody answered whether it may run.", cancelled: "Interrupted before it ran." }[outcome];
    refused(
      core,
      conversation,
      call,
      outcome === "cancelled" ? "cancelled" : "denied",
      why ?? "The person did not allow this call.",
    );
  } else if (server) run(core, conversation, call, server);
  else refused(core, conversation, call, "error", `The tool "${call.modelName}" is gone.`);
}

/** Logs the request, then sends it: nothing else executes anything. */
function run(core: Core, conversation: Conversation, call: Call, server: Synced): void {
  const { scope } = conversation;
  const timeout = call.tool?.definition.timeout_ms ?? core.limits.toolMs;
  call.deadline = core.now + timeout;
  const request = core.append(scope, {
    event_type: "bb_tool_call_request",
    call_id: call.id,
    name: call.name,
    input: call.input,
    scope,
    ...(call.loopId === undefined ? {} : { loop_id: call.loopId }),
    deadline_ts: call.deadline,
  });
  dispatch(core, conversation, call, server, request);
  core.settle(conversation);
}

function dispatch(core: Core, conversation: Conversation, call: Call, server: Synced, request: Event): void {
  call.state = "running";
  call.to = server.id;
  core.pending.set(call.id, { to: server.id, scope: conversation.scope, kind: "call" });
  core.effect(conversation.scope, { type: "send", to: server.id, event: request });
  if (call.deadline !== undefined)
    core.effect(conversation.scope, { type: "timer", key: `call:${call.id}`, at: call.deadline });
}

/** A toolsource is back: idempotent calls that its lost link left open go out again, under the same `call_id`. */
export function resend(core: Core, server: Synced): void {
  for (const set of core.active.values()) {
    for (const conversation of set) {
      for (const call of conversation.calls.values()) {
        if (call.state !== "waiting" || call.tool?.componentId !== server.offer.componentId) continue;
        const { id: call_id, name, input, deadline } = call;
        const request = {
          event_type: "bb_tool_call_request",
          call_id,
          name,
          input,
          scope: conversation.scope,
          ts: core.now,
        };
        const more = {
          ...(call.loopId === undefined ? {} : { loop_id: call.loopId }),
          ...(deadline === undefined ? {} : { deadline_ts: deadline }),
        };
        dispatch(core, conversation, call, server, { ...request, ...more });
      }
    }
  }
}

/** A call that never ran: shown, and answered by the Hub. */
function refused(core: Core, conversation: Conversation, call: Call, status: CallStatus, why: string): void {
  const loop = call.loopId === undefined ? {} : { loop_id: call.loopId };
  core.append(conversation.scope, {
    event_type: "tool_call",
    scope: conversation.scope,
    call_id: call.id,
    name: call.name,
    input: call.input ?? null,
    ...loop,
  });
  end(core, conversation, call, status, [textBlock(why)], true);
}

export function result(core: Core, connection: Synced, event: ToolCallResult): void {
  const { conversation, call } = openCall(core, connection, event, event.call_id ?? event.in_reply_to);
  const status = event.success ? "ok" : event.error?.code === "cancelled" ? "cancelled" : "error";
  const said = event.content ?? [];
  const content =
    said.length > 0 || event.success ? said : [textBlock(event.error?.message ?? "The tool failed without a reason.")];
  end(core, conversation, call, status, cut(content as Block[], core.limits.resultBytes), false, event.error);
}

export function progress(core: Core, connection: Synced, event: ToolProgress): void {
  const { conversation, call } = openCall(core, connection, event, event.call_id);
  const { in_reply_to: _, ...shown } = event;
  const { scope } = conversation;
  core.effect(scope, {
    type: "publish",
    event: { ...shown, event_type: "tool_progress", scope, call_id: call.id, ts: core.now },
  });
}

function openCall(core: Core, connection: Synced, event: Event, id = ""): { conversation: Conversation; call: Call } {
  const pending = core.pending.get(id);
  const conversation = pending && core.conversations.get(pending.scope);
  const call = conversation?.calls.get(id);
  if (pending?.to !== connection.id || !call) {
    throw new BytebotError("not_found", `no open call "${id}" at this connection`);
  }
  if (event["scope"] !== undefined && event["scope"] !== pending.scope) {
    throw new BytebotError("invalid_event", `${event.event_type} names another scope than its call`);
  }
  return { conversation: conversation!, call };
}

/** The one result of a call: logged, shown, kept for the model, and answered to an owner who asked for it. */
export function end(
  core: Core,
  conversation: Conversation,
  call: Call,
  status: CallStatus,
  content: Block[],
  synthetic: boolean,
  error?: WireError,
): void {
  const { scope } = conversation;
  call.state = "done";
  call.status = status;
  call.content = content;
  conversation.calls.delete(call.id);
  core.drop(call.id);
  core.effect(scope, { type: "clear", key: `call:${call.id}` });
  cancelQuestions(core, conversation, ({ asker }) => asker.type !== "context" && asker.call === call);
  const event: Event = {
    event_type: "bb_tool_call_result",
    call_id: call.id,
    name: call.name,
    scope,
    success: status === "ok",
    status,
    content,
    ...(status === "ok" ? {} : { error: error ?? errorOf(status, content) }),
    ...(call.loopId === undefined ? {} : { loop_id: call.loopId }),
    ...(synthetic ? { synthetic: true } : {}),
  };
  core.append(scope, event);
  if (call.requester) {
    reply(core, conversation, call.requester, { ...event, in_reply_to: call.requester.id }, event);
  }
  core.settle(conversation);
  core.raise({ type: "call_ended", conversation, call });
}

const CODES: Record<Exclude<CallStatus, "ok">, ErrorCode> = {
  error: "invalid_params",
  denied: "forbidden",
  cancelled: "cancelled",
  timeout: "timeout",
  lost: "unavailable",
};

/** The result's content is what the model reads; this says the same to a program. */
function errorOf(status: Exclude<CallStatus, "ok">, content: Block[]): WireError {
  const first = content.find((block) => block.type === "text");
  return { code: CODES[status], message: String(first?.["text"] ?? `the call ended: ${status}`), retryable: false };
}

/** Its time is up: the Hub answers, and the tool is told. */
export function timedOut(core: Core, id: string): void {
  const pending = core.pending.get(id);
  const conversation = pending && core.conversations.get(pending.scope);
  const call = conversation?.calls.get(id);
  if (!conversation || !call || call.deadline === undefined || core.now < call.deadline) return;
  if (call.state === "waiting") return lost(core, conversation, call);
  cancel(core, conversation, call, "timeout");
  const seconds = (call.tool?.definition.timeout_ms ?? core.limits.toolMs) / 1000;
  end(
    core,
    conversation,
    call,
    "timeout",
    [textBlock(`No result within ${seconds} s. Whether it took effect is not known.`)],
    true,
  );
}

/** Its link is gone: an idempotent call waits for it until its deadline, any other is lost (rule TOL-6). */
export function linkLost(core: Core, conversation: Conversation, call: Call): void {
  if (call.tool?.definition.annotations?.idempotent === true && call.deadline !== undefined) {
    call.state = "waiting";
    call.to = undefined;
    return;
  }
  lost(core, conversation, call);
}

function lost(core: Core, conversation: Conversation, call: Call): void {
  const from = call.tool?.component ?? "the tool";
  end(
    core,
    conversation,
    call,
    "lost",
    [textBlock(`The connection to ${from} was lost. Whether the call took effect is not known.`)],
    true,
  );
}

export function cancel(core: Core, conversation: Conversation, call: Call, reason: string): void {
  if (call.state === "running" && call.to) core.cancel(conversation.scope, call.to, call.id, reason);
}

/** An interrupt reached this call: what has not run ends at once, what runs is asked to stop and gets its grace. */
export function stop(core: Core, conversation: Conversation, call: Call, reason: string): void {
  if (call.state === "running") cancel(core, conversation, call, reason);
  else if (call.state === "asking") refused(core, conversation, call, "cancelled", "Interrupted before it ran.");
  else unanswered(core, conversation, call);
}

/** The grace is over. */
export function unanswered(core: Core, conversation: Conversation, call: Call): void {
  if (call.state === "done") return;
  end(
    core,
    conversation,
    call,
    "cancelled",
    [textBlock("Interrupted before it answered. Whether it took effect is not known.")],
    true,
  );
}

/** The owner's or the controller's wish for a call: the Hub decides and executes as for a model's. */
export function request(core: Core, connection: Synced, event: ToolCallRequest): void {
  const id = event.id;
  if (id === undefined)
    throw new BytebotError("invalid_params", "bb_tool_call_request needs an id: it is how the result is found");
  const conversation = core.conversation(event.scope);
  const tool = findTool(core, event.scope, event.name);
  const call = newCall(core.newId("c"), tool, tool?.modelName ?? event.name, event.input ?? {});
  call.requester = { connection: connection.id, id };
  begin(core, conversation, call);
}

/** Text beyond the limit is cut at a code point and says so; other content beyond it becomes a note. Sizes in bytes. */
export function cut(content: Block[], limit: number): Block[] {
  let left = limit;
  return content.map((block) => {
    const size = Buffer.byteLength(JSON.stringify(block));
    if (size <= left) {
      left -= size;
      return block;
    }
    const room = Math.max(0, left);
    left = 0;
    if (block.type !== "text")
      return textBlock(`[${block.type} of ${size} bytes left out: over the limit of ${limit}]`);
    const text = String(block["text"]);
    const kept = Buffer.from(text)
      .subarray(0, room)
      .toString("utf8")
      .replace(/\uFFFD+$/u, "");
    return { ...block, type: "text", text: `${kept}\n[cut: ${Buffer.byteLength(text)} bytes in all, limit ${limit}]` };
  });
}
