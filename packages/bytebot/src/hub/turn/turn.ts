import {
  BytebotError,
  tenantOf,
  type ContextRenderResult,
  type Event,
  type InferResult,
  type StopReason,
  type WireError,
} from "../../wire/index.ts";
import { finished, keepSeen } from "./blocks.ts";
import * as calls from "../tools/calls.ts";
import { newTurn } from "../conversation.ts";
import type { Core } from "../core.ts";
import { mustFit, weigh } from "./fit.ts";
import { beyondCalls, mustHaveAllowance, useTokens } from "./allowance.ts";
import { tokensOf } from "../tenants/budget.ts";
import { addAssistant, addResults, addUser, copyMessages } from "./history.ts";
import { chooseInfer, isAwaited, lacksContext, plainRound, render, renderedRound } from "./round.ts";
import { reply } from "../seen.ts";
import { originOf, toInfer } from "./shape.ts";
import type { Asker, Conversation, Input, Phase, Round, Synced, Tool, Turn } from "../state.ts";
import { askedOf, whyMalformed } from "./xml.ts";

export type ToolUse = Extract<ReturnType<typeof finished>[number], { type: "tool_use" }>;

/** All that answers one input: rounds of render, infer and tools under one `loop_id` (rules TRN-1 to TRN-9). */
export function start(core: Core, conversation: Conversation, input: Input): void {
  const { scope } = conversation;
  const turn = newTurn(core.newId("l"), input);
  conversation.turn = turn;
  core.settle(conversation);
  addUser(conversation.messages, input.content);
  const state = { event_type: "scope_state", scope, state: "running", loop_id: turn.loopId, ts: core.now };
  core.effect(scope, { type: "publish", event: state });
  nextRound(core, conversation, turn);
}

export function nextRound(core: Core, conversation: Conversation, turn: Turn): void {
  for (const steer of turn.steers.splice(0)) addUser(conversation.messages, steer.content);
  turn.attempt = 0;
  turn.current = undefined;
  attempt(core, conversation, turn, () => ask(core, conversation, turn));
}

/** The context, where there is one; else the infer at once. */
function ask(core: Core, conversation: Conversation, turn: Turn): void {
  if (isAwaited(core, conversation.scope)) return waitForReturn(core, conversation, turn);
  if (!render(core, conversation, turn)) begin(core, conversation, turn, plainRound(core, conversation));
}

/** Runs one step of a turn: what it throws ends the turn with that error, not the Hub. */
function attempt(core: Core, conversation: Conversation, turn: Turn, step: () => void): void {
  try {
    step();
  } catch (error) {
    finish(core, conversation, turn, "error", BytebotError.from(error).toWire());
  }
}

export function rendered(
  core: Core,
  conversation: Conversation,
  turn: Turn,
  phase: Extract<Phase, { step: "rendering" }>,
  result: ContextRenderResult,
): void {
  attempt(core, conversation, turn, () => {
    if (!result.success) {
      // It does not have what this history goes on from: once more, with the whole (rule HIS-3).
      if (result.error?.code === "cursor_expired" && !phase.whole) return ask(core, conversation, turn);
      throw BytebotError.fromWire(
        result.error ?? { code: "internal", message: "the context failed without a reason", retryable: false },
      );
    }
    conversation.rendered = { to: phase.to, ...phase.upto };
    begin(core, conversation, turn, renderedRound(core, conversation, result));
  });
}

function begin(core: Core, conversation: Conversation, turn: Turn, round: Round): void {
  turn.current = round;
  inferNow(core, conversation, turn, round, false);
}

/** Asks for the inference, or waits until its tenant has room for one, or until the infer is back (rules QTA-2 and TRN-11). */
function inferNow(core: Core, conversation: Conversation, turn: Turn, round: Round, hasRoom: boolean): void {
  const { scope } = conversation;
  const isFirst = turn.round === 0 && turn.attempt === 0;
  core.budgets.checkInference(tenantOf(scope), core.now, round.fields.model, isFirst);
  mustHaveAllowance(core.conversations, conversation, turn);
  const to = chooseInfer(core, scope, round.infer);
  if (!to) return waitForReturn(core, conversation, turn);
  turn.phase = { step: "waiting" };
  if (hasRoom || core.tenants.enter(conversation, "infer")) infer(core, conversation, turn, round, to);
}

function waitForReturn(core: Core, { scope }: Conversation, turn: Turn): void {
  turn.phase = { step: "waiting" };
  core.effect(scope, { type: "timer", key: `return:${scope}`, at: core.now + core.limits.returnMs });
}

/** What a turn waited for may be there now. `hasRoom`: it is its turn among those of its tenant. */
export function goOnWaiting(core: Core, conversation: Conversation, hasRoom: boolean): void {
  const { turn, scope } = conversation;
  if (turn?.phase.step !== "waiting") return;
  core.effect(scope, { type: "clear", key: `return:${scope}` });
  again(core, conversation, turn, hasRoom);
}

/** The same round once more; where what it was to send is not known, since a restart, it is rendered again. */
export function again(core: Core, conversation: Conversation, turn: Turn, hasRoom: boolean): void {
  const { current } = turn;
  attempt(core, conversation, turn, () => {
    if (current) inferNow(core, conversation, turn, current, hasRoom);
    else ask(core, conversation, turn);
  });
}

/** Logs that an inference starts, then asks for it. The log keeps the fact; the messages can be rendered again. */
function infer(core: Core, conversation: Conversation, turn: Turn, round: Round, to: Synced): void {
  const { scope } = conversation;
  const asked = askedOf(to, round, core.limits.answer);
  const fields = toInfer(to, conversation, asked.fields);
  mustFit(fields, asked.fields.messages === conversation.messages ? weigh(conversation) : undefined);
  const request = core.newId("i");
  turn.phase = {
    step: "inferring",
    request,
    to: to.id,
    n: 0,
    origin: originOf(to, round.fields.model),
    size: 0,
    heard: core.now,
    open: new Map(),
    blocks: [],
    offered: asked.offered,
    xml: asked.xml,
  };
  core.expect(request, to.id, scope, "infer");
  const turns = turn.round === 0 && turn.attempt === 0 ? 1 : 0;
  const used = core.budgets.spend(tenantOf(scope), core.now, { turns });
  const requested = {
    event_type: "bb_infer_request",
    id: request,
    stream: true,
    loop_id: turn.loopId,
    scope,
    round: turn.round,
    attempt: turn.attempt,
    ...(round.fields.model === undefined ? {} : { model: round.fields.model }),
  };
  const slim = core.append(scope, requested, used);
  core.send(scope, to.id, slim, fields);
  core.effect(scope, { type: "timer", key: `infer:${request}`, at: core.now + core.limits.inferIdleMs });
}

/** An infer that says success has to say how it ended: the Hub alone interrupts. */
const NO_END: WireError = {
  code: "invalid_event",
  message: "the infer said success with a stop_reason that is none: send success:false with the error",
  retryable: false,
};

const NO_REASON: WireError = { code: "internal", message: "the infer failed without a reason", retryable: false };

export function inferred(
  core: Core,
  conversation: Conversation,
  turn: Turn,
  phase: Extract<Phase, { step: "inferring" }>,
  result: InferResult,
): void {
  const { scope } = conversation;
  core.drop(phase.request);
  const said = result.success && result.stop_reason !== "interrupted" && result.stop_reason !== "error";
  let ended: ReturnType<typeof finished> | undefined;
  let wrong = result.success ? NO_END : result.error;
  try {
    if (said && !turn.stopping) ended = finished(core, conversation, turn, phase, result.content);
  } catch (error) {
    wrong = BytebotError.from(error).toWire(); // whole blocks that no transcript can hold
  }
  const again = ended || turn.stopping ? undefined : repeatIn(core, turn, wrong);
  const { usage } = result;
  const used = usage ? { usage, model: turn.current?.fields.model } : {};
  const concluding = concluded(turn, result, scope, ended ? undefined : wrong, again);
  core.append(scope, concluding, core.budgets.spend(tenantOf(scope), core.now, used));
  useTokens(core.conversations, conversation, tokensOf(usage));
  if (turn.stopping) return finishStopped(core, conversation, turn);
  if (!ended) return failed(core, conversation, turn, phase, wrong, again);
  addAssistant(conversation.messages, ended);
  const uses = ended.filter((block): block is ToolUse => block.type === "tool_use");
  if (uses.length === 0) return finish(core, conversation, turn, result.stop_reason ?? "end_turn");
  call(core, conversation, turn, uses, phase.offered, result.stop_reason);
}

/**
 * The result as it is logged: without its content, and with what the Hub made of it, so that whoever reads the log need
 * not know why (rule REC-2).
 */
function concluded(
  turn: Turn,
  { content: _content, ...result }: InferResult,
  scope: string,
  wrong: WireError | undefined,
  again: number | undefined,
): Event {
  const { loopId: loop_id, round, attempt } = turn;
  const logged: Event = { ...result, loop_id, scope, round, attempt };
  if (turn.stopping) logged["interrupted"] = true;
  else if (wrong || !result.success) Object.assign(logged, { success: false, error: wrong ?? NO_REASON });
  if (again !== undefined) logged["will_retry"] = true;
  return logged;
}

/** After how many milliseconds the round is tried once more, where the infer says that helps. */
function repeatIn(core: Core, turn: Turn, error: WireError = NO_REASON): number | undefined {
  const { attempts, retryMs, maxRetryMs } = core.limits;
  const wait = error.retry_after_ms ?? retryMs * 2 ** turn.attempt;
  return error.retryable && turn.attempt + 1 < attempts && wait <= maxRetryMs ? wait : undefined;
}

/** Repeats the round; the partial text is void, the next attempt says it all again. */
function failed(
  core: Core,
  conversation: Conversation,
  turn: Turn,
  phase: Extract<Phase, { step: "inferring" }>,
  error: WireError = NO_REASON,
  again: number | undefined,
): void {
  if (again !== undefined) {
    turn.phase = { step: "pausing" };
    core.effect(conversation.scope, { type: "timer", key: `retry:${conversation.scope}`, at: core.now + again });
    return;
  }
  addAssistant(conversation.messages, keepSeen(core, conversation, turn, phase));
  finish(core, conversation, turn, "error", error);
}

/** The wait before another attempt is over. */
export function retry(core: Core, scope: string): void {
  const conversation = core.conversations.get(scope);
  const turn = conversation?.turn;
  if (!conversation || turn?.phase.step !== "pausing") return;
  turn.attempt++;
  again(core, conversation, turn, false);
}

/** The infer that a turn waited for did not return. */
export function notBack(core: Core, scope: string): void {
  const conversation = core.conversations.get(scope);
  const turn = conversation?.turn;
  if (!conversation || turn?.phase.step !== "waiting") return;
  const who = !turn.current && lacksContext(core, scope) ? "context" : "infer";
  const message = `the ${who} was lost and is not back within ${core.limits.returnMs / 1000} s`;
  finish(core, conversation, turn, "error", { code: "unavailable", message, retryable: true });
}

function call(
  core: Core,
  conversation: Conversation,
  turn: Turn,
  uses: ToolUse[],
  offered: ReadonlyMap<string, Tool>,
  stopReason: StopReason | undefined,
): void {
  const asked = calls.callsOf(turn.loopId, uses, offered);
  turn.phase = { step: "calling", calls: asked };
  const guard = loopGuard(core, turn, uses);
  const last = uses.at(-1);
  for (const [index, use] of uses.entries()) {
    calls.begin(core, conversation, asked[index]!, guard?.message ?? refusalOf(use, use === last, stopReason));
  }
  if (guard !== undefined) {
    addResults(conversation.messages, asked);
    finish(core, conversation, turn, "error", guard);
  }
}

/** Why this call does not run as it stands, if it does not. */
export function refusalOf(use: ToolUse, isLast: boolean, stopReason: StopReason | undefined): string | undefined {
  if ("malformed" in use) return whyMalformed(use);
  if (stopReason === "max_tokens" && isLast) return "The call was cut by the token limit, so it did not run.";
  return undefined;
}

/** Why this loop goes no further, if it does not: too many calls, or the same one again and again (rules TRN-8 and TRN-13). */
function loopGuard(core: Core, turn: Turn, uses: ToolUse[]): WireError | undefined {
  const { callsPerLoop, sameCalls } = core.limits;
  for (const use of uses) {
    countCall(turn, use);
    if (turn.calls > callsPerLoop) return loopLimit(`more than ${callsPerLoop} tool calls`);
    if (turn.sameCalls > sameCalls)
      return loopLimit(`the same call "${use.name}" more than ${sameCalls} times in a row`);
  }
  return beyondCalls(turn);
}

function loopLimit(what: string): WireError {
  return { code: "loop_limit", message: `the loop made ${what}`, retryable: false };
}

export function countCall(turn: Pick<Turn, "calls" | "lastCall" | "sameCalls">, use: ToolUse): void {
  const same = `${use.name} ${JSON.stringify(use.input)}`;
  turn.sameCalls = same === turn.lastCall ? turn.sameCalls + 1 : 1;
  turn.lastCall = same;
  turn.calls++;
}

/** Called whenever a call ends: the round goes on when the last one has. */
export function allCallsEnded(core: Core, conversation: Conversation): void {
  const { turn } = conversation;
  if (turn?.phase.step !== "calling") return;
  const asked = turn.phase.calls;
  if (asked.some((each) => each.state !== "done")) return;
  addResults(conversation.messages, asked);
  turn.phase = { step: "pausing" };
  if (turn.stopping) return finishStopped(core, conversation, turn);
  turn.round++;
  nextRound(core, conversation, turn);
}

/** The turn ends as interrupted: what the person saw stays, marked. */
export function finishStopped(core: Core, conversation: Conversation, turn: Turn): void {
  const { phase } = turn;
  conversation.rendered = undefined; // the next history is whole (rule HIS-1)
  if (phase.step === "inferring") addAssistant(conversation.messages, keepSeen(core, conversation, turn, phase));
  finish(core, conversation, turn, "interrupted");
}

/** The one terminal event of every loop, then idle or the next turn (rule TRN-9). */
export function finish(
  core: Core,
  conversation: Conversation,
  turn: Turn,
  stopReason: StopReason,
  error?: WireError,
): void {
  if (conversation.turn !== turn) return;
  const { scope } = conversation;
  if (turn.phase.step === "rendering" || turn.phase.step === "inferring") core.drop(turn.phase.request);
  conversation.turn = undefined;
  core.append(scope, {
    event_type: "infer_chunk",
    kind: "loop_done",
    scope,
    loop_id: turn.loopId,
    round: turn.round,
    stop_reason: stopReason,
    ...(error ? { error } : {}),
  });
  for (const kind of ["retry", "return"]) core.effect(scope, { type: "clear", key: `${kind}:${scope}` });
  answerRequester(core, conversation, turn, stopReason, error);
  conversation.queue.unshift(...turn.steers.splice(0));
  const next = conversation.queue.shift();
  if (next) return start(core, conversation, next);
  const state = {
    event_type: "scope_state",
    scope,
    state: "idle",
    loop_id: turn.loopId,
    stop_reason: stopReason,
    ts: core.now,
  };
  core.effect(scope, { type: "publish", event: state });
  core.settle(conversation);
}

function answerRequester(
  core: Core,
  conversation: Conversation,
  turn: Turn,
  stopReason: StopReason,
  error?: WireError,
): void {
  const { requester } = turn.input;
  if (!requester) return;
  if (requester.callId !== undefined) core.rest(requester.callId, -1);
  reply(core, conversation, requester, turnResult(conversation, requester, stopReason, error));
}

/** The answer to whoever waits for the whole turn (rule TRN-12). */
export function turnResult(
  { messages, scope }: Conversation,
  requester: Asker,
  stop_reason: StopReason,
  error?: WireError,
): Event {
  const last = copyMessages(messages).findLast((message) => message.role === "assistant");
  const success = stop_reason === "end_turn" || stop_reason === "max_tokens";
  const said = last ? { content: last.content } : {};
  const why = error ?? { code: "cancelled", message: `the turn ended: ${stop_reason}`, retryable: false };
  const answer = { event_type: "bb_turn_result", in_reply_to: requester.id, scope, success, stop_reason, ...said };
  return success ? answer : { ...answer, error: why };
}
