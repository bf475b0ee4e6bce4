import {
  encloses,
  type Block,
  type Event,
  type Message,
  type StopReason,
  type Usage,
  type WireError,
} from "../../wire/index.ts";
import { nameBy } from "../conversations/titles.ts";
import { newConversation, newTurn } from "../conversation.ts";
import { isYes } from "../tools/approvals.ts";
import { allowedBy } from "../tools/calls.ts";
import { tokensOf } from "../tenants/budget.ts";
import { useTokens } from "../turn/allowance.ts";
import { addAssistant, addResults, addUser } from "../turn/history.ts";
import { isKept } from "../turn/blocks.ts";
import { countCall, refusalOf, turnResult, type ToolUse } from "../turn/turn.ts";
import { contentOf } from "../turn/input.ts";
import { recallSeen } from "../seen.ts";
import type { Call, CallStatus, Conversation, Held, Input, Question, Turn } from "../state.ts";
import { fromState, held } from "./held.ts";

/**
 * Folds the durable events of one cell into its conversations as the Hub had come to them: each turn held where its log
 * ends (rule REC-1). What the core does live and what this does must come to the same: the tests compare the two at the
 * end of every Hub.
 */
export class Recall {
  readonly conversations = new Map<string, Conversation>();
  private snapped: Message[] = [];

  /** An event with its place: what is shown again of it looks as it did. */
  add(event: Event): void {
    const scope = event["scope"] as string;
    if (event.event_type === "bb_snapshot") {
      this.snapped = (event["state"] as { messages: Message[] }).messages;
      return;
    }
    if (event.event_type === "interrupt") return this.interrupt(event, scope);
    if (event.event_type === "bb_state") return void this.conversations.set(scope, fromState(event, this.snapped));
    if (event.event_type === "conversation_deleted") return this.conversations.clear();
    const conversation = this.conversation(scope);
    const { turn } = conversation;
    // Of an input it says nothing: in an old log it is what its sender wrote.
    if (turn && typeof event["loop_id"] === "string" && event.event_type !== "user_event")
      turn.loopId = event["loop_id"];
    switch (event.event_type) {
      case "user_event":
        return this.input(conversation, event);
      case "conversation_title":
        conversation.about = { ...conversation.about, title: String(event["title"]) };
        return;
      case "input_state":
        return returned(conversation, event);
      case "input_strict":
        return asked(conversation, event);
      case "input_resolved":
        return this.resolved(conversation, event);
      case "tool_call":
        callOf(conversation, event).held!.shown = true;
        return;
      case "bb_tool_call_request":
        return sent(conversation, event);
      case "bb_tool_call_result":
        return ended(conversation, event);
      case "bb_infer_request":
        return inferring(conversation, turn, event);
      case "bb_infer_result":
        return inferred(this.conversations, conversation, turn, event);
      case "infer_chunk":
        if (event["kind"] === "loop_done") return done(conversation, turn, event);
        if (turn) heldOf(turn).blocks[event["index"] as number] = event["block"] as Block;
    }
  }

  /** The end of a turn that is the last that counts: what waited behind it does not begin. */
  end(event: Event): void {
    const { turn, queue } = this.conversation(event["scope"] as string);
    queue.length = 0;
    if (turn) {
      turn.steers = [];
      if (isGuarded(turn, event)) heldOf(turn).due = [];
    }
    this.add(event);
  }

  private conversation(scope: string): Conversation {
    let conversation = this.conversations.get(scope);
    if (!conversation) this.conversations.set(scope, (conversation = newConversation(scope)));
    return conversation;
  }

  private input(conversation: Conversation, event: Event): void {
    const { turn, queue } = conversation;
    const input = toInput(event);
    const steering = turn !== undefined && event["mode"] === "steer" && turn.stopping === undefined;
    const fate = !turn ? "started" : steering ? "steering" : "queued";
    const component = String(event["from"]);
    nameBy(conversation, input.content);
    if (input.requester) recallSeen(conversation, component, input.requester.id, {});
    else {
      const answer = { type: "ack" as const, to: "", inReplyTo: input.id, of: event, fate };
      recallSeen(conversation, component, input.id, { event: asSent(event), answer });
    }
    if (!turn) return begin(conversation, input);
    if (steering) turn.steers.push(input);
    else if (event["mode"] === "replace") {
      queue.unshift(input);
      stop(conversation, "replaced");
    } else queue.push(input);
  }

  /** It is logged once a cell, and reaches all that went on there. `reached`: it did so before, and is known from here on. */
  private interrupt({ reached, ...event }: Event, scope: string): void {
    for (const conversation of this.conversations.values()) {
      const { turn, queue } = conversation;
      if (reached !== undefined || !encloses(scope, conversation.scope)) continue;
      stop(conversation, String(event["reason"]));
      for (const input of [...queue, ...(turn?.steers ?? [])]) input.returning = true;
    }
    if (typeof event["id"] !== "string") return;
    const answer = { type: "ack" as const, to: "", inReplyTo: event["id"], of: event };
    const seen = { event: asSent(event), answer };
    recallSeen(this.conversation(scope), String(event["from"]), event["id"], seen);
  }

  private resolved(conversation: Conversation, event: Event): void {
    const id = String(event["id"]);
    const question = conversation.questions.get(id);
    conversation.questions.delete(id);
    if (question?.asker.type !== "approval") return;
    const { call } = question.asker;
    const { tool_hash } = question.event["approval"] as { tool_hash: string };
    const {
      choice,
      principal,
      expires_at: until,
    } = event as { choice?: string; principal?: string; expires_at?: number };
    call.state = "returning";
    if (choice !== undefined && isYes(choice)) {
      allowedBy(conversation, call, tool_hash, choice, { principal, until });
      call.held!.approved = tool_hash;
    } else call.held!.refusal = { status: "denied", why: "The person did not allow this call." };
  }
}

/** An event as its sender wrote it. */
function asSent({ from: _from, ts: _ts, seq: _seq, cursor: _cursor, ...sent }: Event): Event {
  return sent as Event;
}

function toInput(event: Event): Input {
  const input: Input = { id: String(event["id"]), event, content: contentOf(event) };
  const { request_id, call_id } = event as { request_id?: string; call_id?: string };
  if (request_id === undefined) return input;
  const callId = call_id === undefined ? {} : { callId: call_id };
  return { ...input, requester: { connection: "", component: String(event["from"]), id: request_id, ...callId } };
}

function begin(conversation: Conversation, input: Input): void {
  conversation.turn = newTurn("", input);
  heldOf(conversation.turn);
  addUser(conversation.messages, input.content);
}

function heldOf(turn: Turn): Held {
  if (turn.phase.step !== "held") turn.phase = held();
  return turn.phase as Held;
}

function stop({ turn, calls }: Conversation, reason: string): void {
  if (turn) turn.stopping ??= { reason, until: 0 };
  for (const { held: known } of calls.values()) if (known) known.stopped = true;
}

/** What the steers of a round that goes on say, the model is told. */
export function deliver(conversation: Conversation, turn: Turn): void {
  for (const steer of heldOf(turn).due.splice(0)) addUser(conversation.messages, steer.content);
}

function inferring(conversation: Conversation, turn: Turn | undefined, event: Event): void {
  if (!turn) return;
  deliver(conversation, turn);
  turn.round = event["round"] as number;
  turn.attempt = event["attempt"] as number;
  turn.phase = { ...held(), at: "inferring", request: String(event["id"]) };
}

function inferred(
  conversations: ReadonlyMap<string, Conversation>,
  conversation: Conversation,
  turn: Turn | undefined,
  event: Event,
): void {
  if (!turn) return;
  useTokens(conversations, conversation, tokensOf(event["usage"] as Usage | undefined));
  const phase = heldOf(turn);
  const stopReason = event["stop_reason"] as StopReason | undefined;
  phase.at = "ended";
  if (event["interrupted"] === true) phase.end = { stopReason: "interrupted" };
  else if (event["success"] === true) {
    const blocks = phase.blocks.filter((block) => block !== undefined);
    phase.blocks = [];
    addAssistant(conversation.messages, blocks);
    const uses = blocks.filter((block): block is ToolUse => block.type === "tool_use");
    if (uses.length === 0) phase.end = { stopReason: stopReason ?? "end_turn" };
    else calling(conversation, turn, phase, uses, stopReason);
  } else if (event["will_retry"] === true) {
    turn.phase = held();
    turn.attempt++;
  } else phase.end = { stopReason: "error", error: event["error"] as WireError };
}

function calling(
  conversation: Conversation,
  turn: Turn,
  phase: Held,
  uses: readonly ToolUse[],
  stopReason: StopReason | undefined,
): void {
  phase.at = "calling";
  for (const use of uses) {
    countCall(turn, use);
    const refusal = refusalOf(use, use === uses.at(-1), stopReason);
    const call = newCall({ call_id: use.id, name: use.name, input: use.input, loop_id: turn.loopId });
    if (refusal !== undefined) call.held!.refusal = { status: "error", why: refusal };
    phase.calls.push(call);
    conversation.calls.set(call.id, call);
  }
}

function newCall(event: Record<string, unknown>): Call {
  const { call_id, name, input, loop_id, from, request_id, principal } = event as Record<string, string | undefined>;
  const call: Call = {
    id: String(call_id),
    tool: undefined,
    name: String(name),
    modelName: String(name),
    input,
    loopId: loop_id,
    state: "returning",
    to: undefined,
    deadline: undefined,
    left: 0,
    held: { sent: false },
  };
  const person = principal === undefined ? {} : { principal };
  if (request_id !== undefined) call.requester = { connection: "", component: String(from), id: request_id, ...person };
  return call;
}

/** The call that an event is about; an owner's begins with it. */
function callOf(conversation: Conversation, event: Record<string, unknown>): Call {
  const id = String(event["call_id"]);
  let call = conversation.calls.get(id);
  if (!call) {
    conversation.calls.set(id, (call = newCall(event)));
    if (call.requester) recallSeen(conversation, call.requester.component, call.requester.id, {});
  }
  if (typeof event["name"] === "string") call.name = event["name"];
  return call;
}

function sent(conversation: Conversation, event: Event): void {
  const call = callOf(conversation, event);
  const { idempotent, component_id, tool_hash } = event;
  const again = { componentId: String(component_id), hash: String(tool_hash) };
  call.state = "returning";
  call.held = { sent: true, ...(idempotent === true ? { again } : {}) };
}

function ended(conversation: Conversation, event: Event): void {
  const call = conversation.calls.get(String(event["call_id"]));
  if (!call) return;
  conversation.calls.delete(call.id);
  call.state = "done";
  call.status = event["status"] as CallStatus;
  call.content = event["content"] as Block[];
  const { requester } = call;
  if (requester) {
    const answer = { type: "send" as const, to: "", event, plus: { in_reply_to: requester.id } };
    recallSeen(conversation, requester.component, requester.id, { answer });
  }
  const { turn } = conversation;
  if (!turn || call.loopId === undefined) return;
  const phase = heldOf(turn);
  if (phase.at !== "calling" || phase.calls.some(({ state }) => state !== "done")) return;
  addResults(conversation.messages, phase.calls);
  if (turn.stopping) {
    turn.phase = { ...held(), at: "ended", end: { stopReason: "interrupted" } };
    return;
  }
  turn.round++;
  turn.attempt = 0;
  turn.phase = { ...held(), due: turn.steers.splice(0) };
}

function asked(conversation: Conversation, event: Event): void {
  const { id, approval, call_id, from, request_id, principal } = event as Record<string, unknown>;
  let asker: Question["asker"] = { type: "gone" };
  if (approval !== undefined) {
    const { name, input, tool_hash } = approval as { name: string; input: unknown; tool_hash: string };
    const known = conversation.calls.get(String(call_id));
    const call = known ?? callOf(conversation, { call_id, name, input, from, request_id, principal });
    call.state = "asking";
    call.held!.hash = tool_hash;
    asker = { type: "approval", call };
  }
  const question: Question = { id: String(id), event, schema: undefined, checking: undefined, asker };
  conversation.questions.set(question.id, question);
}

function returned(conversation: Conversation, { id, ts }: Event): void {
  const { turn, queue } = conversation;
  for (const inputs of [queue, ...(turn ? [turn.steers, heldOf(turn).due] : [])]) {
    const at = inputs.findIndex((input) => input.id === id);
    const [input] = at === -1 ? [] : inputs.splice(at, 1);
    const requester = input?.requester;
    if (!requester) continue;
    const error = { code: "cancelled", message: "interrupted before it began", retryable: false };
    const answer = { event_type: "bb_turn_result", in_reply_to: requester.id, scope: conversation.scope };
    recallSeen(conversation, requester.component, requester.id, {
      answer: { type: "send", to: "", event: { ...answer, success: false, error, ts } },
    });
  }
}

/** The turn is over, and the next that waits begins (rule TRN-9). */
function done(conversation: Conversation, turn: Turn | undefined, event: Event): void {
  if (!turn) return;
  const { queue } = conversation;
  const phase = heldOf(turn);
  const error = event["error"] as WireError | undefined;
  if (isGuarded(turn, event)) turn.steers.unshift(...phase.due.splice(0));
  deliver(conversation, turn);
  keep(conversation, phase);
  const { requester } = turn.input;
  if (requester) {
    const result = turnResult(conversation, requester, event["stop_reason"] as StopReason, error);
    recallSeen(conversation, requester.component, requester.id, {
      answer: { type: "send", to: "", event: { ...result, ts: event["ts"] } },
    });
  }
  conversation.turn = undefined;
  queue.unshift(...turn.steers.splice(0));
  const next = queue.shift();
  if (next) begin(conversation, next);
}

/** It ended within the round of its last calls, none of which ran: what was to come with the next was not delivered. */
function isGuarded(turn: Turn, event: Event): boolean {
  return (event["round"] as number) < turn.round;
}

/** What the person saw of an answer that did not come to its end (rule INT-5). */
export function keep(conversation: Conversation, phase: Held): void {
  addAssistant(conversation.messages, phase.blocks.filter(isKept));
  phase.blocks = [];
}
