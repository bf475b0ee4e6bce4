import {
  BytebotError,
  encloses,
  isBlank,
  type Block,
  type Event,
  type TurnRequest,
  type UserEvent,
} from "../../wire/index.ts";
import { nameBy } from "../conversations/titles.ts";
import type { Core } from "../core.ts";
import type { Effect } from "../effects.ts";
import { mustFitTranscript } from "./fit.ts";
import { modeOf, type Mode } from "./mode.ts";
import { unclaimed } from "./unclaimed.ts";
import { asker, forget, remember, seenBefore } from "../seen.ts";
import { stopConversation } from "./stop.ts";
import type { Call, Conversation, Input, Synced } from "../state.ts";
import { start } from "./turn.ts";

/** What a person sent: logged, acknowledged with its fate, echoed, and one turn at a time (rules INP-1 to INP-5). */
export function userEvent(core: Core, connection: Synced, sent: UserEvent): void {
  const event = unclaimed(sent);
  const conversation = core.conversation(event.scope);
  mustFitTranscript(event.content);
  if (seenBefore(core, conversation, connection, event)) return;
  const content = contentOf(event);
  if (content.every(isBlank)) {
    forget(conversation, connection.offer.componentId, event.id);
    throw new BytebotError("invalid_params", "user_event has neither text nor content: blank text counts as none");
  }
  const id = event.id ?? core.newId("e");
  const mode = modeOf(core.options.input, event);
  // In the log stands what it went by: the rules of another day may be others.
  const went = mode === undefined ? {} : { mode };
  const input: Input = { id, event: { ...event, id, ...went, from: connection.offer.componentId } as Event, content };
  accept(core, connection, conversation, input, mode ?? "queue", event.id);
}

/** What was said: its blocks, or its text as one. */
export function contentOf({ text, content }: Event): Block[] {
  if (Array.isArray(content) && content.length > 0) return content as Block[];
  return typeof text === "string" ? [{ type: "text", text }] : [];
}

/** A turn of its own for whoever asks: the owner, or a tool in a call, whose child conversation lies below its scope. */
export function turnRequest(core: Core, connection: Synced, event: TurnRequest): void {
  const call = connection.grant.kind === "toolsource" ? callOf(core, connection, event) : undefined;
  const conversation = core.conversation(event.scope);
  mustFitTranscript(event.content);
  const content: Block[] =
    typeof event.content === "string" ? [{ type: "text", text: event.content }] : (event.content as Block[]);
  if (content.every(isBlank)) throw new BytebotError("invalid_params", "bb_turn_request says nothing: give it content");
  if (seenBefore(core, conversation, connection, event)) return;
  const echo = {
    event_type: "user_event",
    id: core.newId("e"),
    type: "message",
    scope: event.scope,
    content,
    from: connection.offer.componentId,
    // After a restart of the Hub the same request is not a new one (rule REC-3).
    request_id: event.id,
    ...(event.principal === undefined ? {} : { principal: event.principal }),
    ...(event.budget ? { budget: event.budget } : {}),
    ...(call ? { call_id: call.id } : {}),
  };
  const input: Input = {
    id: echo.id,
    event: echo,
    content,
    requester: { ...asker(connection, event.id), ...(call ? { callId: call.id } : {}) },
  };
  accept(core, connection, conversation, input, "queue", undefined);
  if (call) (call.children ??= new Set()).add(event.scope);
}

/** The call within which a tool asks. Throws `forbidden` where it is none of its own, or the scope is not below it. */
function callOf(core: Core, connection: Synced, event: TurnRequest): Call {
  const pending = core.pending.get(event.call_id ?? "");
  const call = core.conversations.get(pending?.scope ?? "")?.calls.get(event.call_id ?? "");
  const below =
    pending && encloses(pending.scope, event.scope) && event.scope.slice(pending.scope.length).startsWith("/~");
  if (pending?.to === connection.id && call && below) return call;
  throw new BytebotError("forbidden", "a tool asks for a turn within its call, in a scope <its own>/~name");
}

function accept(
  core: Core,
  connection: Synced,
  conversation: Conversation,
  input: Input,
  mode: Mode,
  answerTo: string | undefined,
): void {
  const { turn, queue, scope } = conversation;
  const busy = turn !== undefined;
  const waiting = queue.length + (turn?.steers.length ?? 0);
  if (busy && (mode === "refuse" || waiting >= core.limits.queue)) {
    forget(conversation, connection.offer.componentId, input.requester?.id ?? answerTo);
    if (input.requester || answerTo === undefined)
      throw new BytebotError("overloaded", `${waiting} inputs wait in "${scope}"`, { retryable: true });
    return core.effect(scope, { type: "ack", to: connection.id, inReplyTo: answerTo, fate: "refused" });
  }
  if (input.requester?.callId !== undefined) core.rest(input.requester.callId, 1);
  const steering = busy && mode === "steer" && turn.stopping === undefined;
  const fate = !busy ? "started" : steering ? "steering" : "queued";
  const about = nameBy(conversation, input.content);
  core.append(scope, input.event, about ? { about } : {});
  if (answerTo !== undefined) {
    const ack: Effect = { type: "ack", to: connection.id, inReplyTo: answerTo, of: input.event, fate };
    core.effect(scope, ack);
    remember(conversation, asker(connection, answerTo), ack);
  }
  if (!busy) return start(core, conversation, input);
  if (steering) turn.steers.push(input);
  else if (mode === "replace") {
    queue.unshift(input);
    stopConversation(core, conversation, "replaced", false);
  } else queue.push(input);
  core.settle(conversation);
}
