import {
  BytebotError,
  type Block,
  type ErrorCode,
  type Event,
  type ToolCallResult,
  type ToolProgress,
  type WireError,
} from "../../wire/index.ts";
import type { Core } from "../core.ts";
import { mustFitTranscript } from "../turn/fit.ts";
import { textBlock } from "../turn/history.ts";
import { cancelQuestions } from "./questions.ts";
import { reply } from "../seen.ts";
import type { Call, CallStatus, Conversation, Synced } from "../state.ts";

/** A call that never ran: shown, and answered by the Hub. */
export function refused(
  core: Core,
  conversation: Conversation,
  call: Call,
  status: CallStatus,
  why: string,
  error?: WireError,
): void {
  const loop = call.loopId === undefined ? {} : { loop_id: call.loopId };
  core.append(conversation.scope, {
    event_type: "tool_call",
    scope: conversation.scope,
    call_id: call.id,
    name: call.name,
    input: call.input ?? null,
    ...loop,
    ...askedBy(call),
  });
  end(core, conversation, call, status, [textBlock(why)], true, error);
}

/** Whose request a call was: after a restart of the Hub the same request is not a new one (rule REC-3). */
export function askedBy({ requester }: Call): { from?: string; request_id?: string; principal?: string } {
  if (!requester) return {};
  const { component, id, principal } = requester;
  return { from: component, request_id: id, ...(principal === undefined ? {} : { principal }) };
}

export function result(core: Core, connection: Synced, event: ToolCallResult): void {
  const { conversation, call } = openCall(core, connection, event, event.call_id ?? event.in_reply_to);
  const status = event.success ? "ok" : event.error?.code === "cancelled" ? "cancelled" : "error";
  const said = transcribable(event.content ?? []);
  const content =
    said.length > 0 || event.success ? said : [textBlock(event.error?.message ?? "The tool failed without a reason.")];
  end(core, conversation, call, status, content as Block[], false, event.error);
}

/** A result that no transcript can hold is replaced by the reason: the call has ended all the same. */
function transcribable(content: Block[]): Block[] {
  try {
    mustFitTranscript(content);
    return content;
  } catch (error) {
    return [textBlock(`[the result is left out: ${BytebotError.from(error).message}]`)];
  }
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
  // No effect where it never ran: the two events of a refused call are one entry.
  if (!core.drop(call.id) && call.deadline !== undefined) core.effect(scope, { type: "clear", key: `call:${call.id}` });
  cancelQuestions(core, conversation, ({ asker }) => "call" in asker && asker.call === call);
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
    reply(core, conversation, call.requester, event, { in_reply_to: call.requester.id });
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
  const seconds = (call.tool?.definition.timeout_ms ?? core.limits.toolMs) / 1000;
  end(
    core,
    conversation,
    call,
    "timeout",
    [textBlock(`No result within ${seconds} s. Whether it took effect is not known.`)],
    true,
  );
  // It is told when its end is in the log: a Hub that is killed before does not send it again after that.
  cancel(core, conversation, call, "timeout");
}

/** Its link is gone: an idempotent call waits for it until its deadline, any other is lost (rule TOL-6). */
export function linkLost(core: Core, conversation: Conversation, call: Call): void {
  // It was told to stop: coming back does not start it again.
  if (call.stopBy !== undefined) return unanswered(core, conversation, call);
  if (call.tool?.definition.annotations?.idempotent === true && call.deadline !== undefined) {
    call.state = "waiting";
    call.to = undefined;
    return;
  }
  lost(core, conversation, call);
}

/** Nobody knows whether it took effect. */
export function lost(core: Core, conversation: Conversation, call: Call): void {
  const from = call.tool?.component ?? call.name;
  end(
    core,
    conversation,
    call,
    "lost",
    [textBlock(`The connection to ${from} was lost. Whether the call took effect is not known.`)],
    true,
  );
}

/** Of a call that runs. */
export function cancel(core: Core, conversation: Conversation, call: Call, reason: string): void {
  core.cancel(conversation.scope, call.to!, call.id, reason);
}

/** Nothing was asked of its tool yet. */
const NOT_SENT = new Set<Call["state"]>(["checking", "asking", "queued"]);

/** An interrupt reached this call: what has not run ends at once, what runs is asked to stop and gets its grace. */
export function stop(core: Core, conversation: Conversation, call: Call, reason: string): void {
  if (call.stopBy !== undefined) return;
  if (NOT_SENT.has(call.state) || call.held?.sent === false)
    return refused(core, conversation, call, "cancelled", "Interrupted before it ran.");
  if (call.state !== "running") return unanswered(core, conversation, call);
  call.stopBy = core.now + core.limits.graceMs;
  cancel(core, conversation, call, reason);
}

/** The grace is over. */
export function unanswered(core: Core, conversation: Conversation, call: Call): void {
  end(
    core,
    conversation,
    call,
    "cancelled",
    [textBlock("Interrupted before it answered. Whether it took effect is not known.")],
    true,
  );
}
