import type { Core } from "../core.ts";
import { cancelQuestions } from "../tools/questions.ts";
import * as results from "../tools/results.ts";
import { reply } from "../seen.ts";
import type { Call, Conversation, Input } from "../state.ts";
import { finishStopped } from "./turn.ts";

/**
 * Interrupts one conversation: undelivered input goes back (`returning`), its questions end, its work is told to stop.
 * What does not answer within the grace is ended by the Hub (rules INT-2 to INT-4).
 */
export function stopConversation(core: Core, conversation: Conversation, reason: string, returning: boolean): void {
  const { turn, scope } = conversation;
  if (returning) {
    giveBack(core, conversation, conversation.queue.splice(0));
    if (turn) giveBack(core, conversation, turn.steers.splice(0));
  }
  if (turn && !turn.stopping) {
    turn.stopping = { reason, until: core.now + core.limits.graceMs };
    const { phase } = turn;
    if (phase.step === "rendering" || phase.step === "inferring") core.cancel(scope, phase.to, phase.request, reason);
  }
  cancelQuestions(core, conversation, () => true);
  for (const call of [...conversation.calls.values()]) results.stop(core, conversation, call, reason);
  waitForGrace(core, conversation);
  // A render has no effect and a pause nothing to end: neither is waited for.
  const step = turn?.phase.step;
  if (step === "held") return core.raise({ type: "held_stopped", conversation });
  if (turn && conversation.turn === turn && step !== "inferring" && step !== "calling")
    finishStopped(core, conversation, turn);
  core.settle(conversation);
}

/** A call has ended, so the child turns that it asked for are of no use any more (rule TRN-12). */
export function stopChildren(core: Core, call: Call): void {
  for (const scope of call.children ?? []) {
    const conversation = core.conversations.get(scope);
    if (!conversation) continue;
    const { turn, queue } = conversation;
    const ofCall = ({ requester }: Input): boolean => requester?.callId === call.id;
    const waiting = queue.filter(ofCall);
    if (waiting.length > 0) {
      conversation.queue = queue.filter((input) => !ofCall(input));
      giveBack(core, conversation, waiting);
    }
    if (turn && ofCall(turn.input)) stopConversation(core, conversation, "its call has ended", false);
  }
}

/** What was not delivered returns to who sent it. */
export function giveBack(core: Core, conversation: Conversation, inputs: Input[]): void {
  const { scope } = conversation;
  for (const input of inputs) {
    core.append(scope, { event_type: "input_state", id: input.id, scope, fate: "returned" });
    if (!input.requester) continue;
    if (input.requester.callId !== undefined) core.rest(input.requester.callId, -1);
    const error = { code: "cancelled", message: "interrupted before it began", retryable: false };
    const answer = { event_type: "bb_turn_result", in_reply_to: input.requester.id, scope, success: false, error };
    reply(core, conversation, input.requester, answer);
  }
}

/** One timer for the grace that ends next; a later interrupt does not put off an earlier one's. */
function waitForGrace(core: Core, conversation: Conversation): void {
  const { turn, calls, scope } = conversation;
  const ends = [...calls.values()].flatMap(({ stopBy }) => (stopBy === undefined ? [] : [stopBy]));
  if (turn?.stopping) ends.push(turn.stopping.until);
  if (ends.length === 0 || conversation.graceAt !== undefined) return;
  conversation.graceAt = Math.min(...ends);
  core.effect(scope, { type: "timer", key: `grace:${scope}`, at: conversation.graceAt });
}

/** The grace is over: the Hub ends what did not, of what it had told to stop. */
export function graceOver(core: Core, scope: string): void {
  const conversation = core.conversations.get(scope);
  if (!conversation) return;
  conversation.graceAt = undefined;
  for (const call of [...conversation.calls.values()]) {
    if (call.stopBy !== undefined && call.stopBy <= core.now) results.unanswered(core, conversation, call);
  }
  const { turn } = conversation;
  if (turn?.stopping && turn.stopping.until <= core.now && turn.phase.step === "inferring") {
    const { request } = turn.phase;
    const error = { code: "cancelled", message: "the infer did not stop within the grace", retryable: false };
    const answer = { event_type: "bb_infer_result", in_reply_to: request, loop_id: turn.loopId, scope };
    core.append(scope, { ...answer, success: false, error, synthetic: true, interrupted: true });
    core.drop(request);
    finishStopped(core, conversation, turn);
  }
  waitForGrace(core, conversation);
}
