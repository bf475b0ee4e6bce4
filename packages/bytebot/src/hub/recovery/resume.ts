import { encloses, tenantOf } from "../../wire/index.ts";
import type { Core } from "../core.ts";
import { begin, goAgain, runApproved } from "../tools/calls.ts";
import { resolve } from "../tools/questions.ts";
import { end, lost, refused, unanswered } from "../tools/results.ts";
import { offeredIn, findTool } from "../tools/tools.ts";
import { addResults, textBlock } from "../turn/history.ts";
import { giveBack } from "../turn/stop.ts";
import { again, allCallsEnded, finish, inferred } from "../turn/turn.ts";
import type { Call, Conversation, Held, Input, Turn } from "../state.ts";
import { deliver, keep } from "./recall.ts";

const RESTARTED = { code: "unavailable", message: "the Hub was restarted", retryable: true };

/** The conversations of one cell, as its log says: known from here on, and held where they were (rule REC-1). */
export function restore(core: Core, conversations: Iterable<Conversation>): void {
  for (const conversation of conversations) {
    core.adopt(conversation);
    for (const question of conversation.questions.values()) {
      core.questions.set(question.id, conversation);
      const at = question.event["expires_at"] as number;
      core.effect(conversation.scope, { type: "timer", key: `question:${question.id}`, at });
    }
    core.settle(conversation);
  }
}

/** Nothing goes on in this cell, and all of it is in the log (rule REC-7). */
export function unload(core: Core, cell: string): void {
  if (core.loaded.isBusy(cell)) return;
  for (const conversation of [...core.loaded.of(cell)]) core.unload(conversation);
}

/** All that is held in a scope and below, the innermost first: a child turn is of no use to a call that was cut off. */
export function resumeWithin(core: Core, scope: string, how: "resume" | "end"): void {
  const sets = scope === "*" ? [...core.active.values()] : [core.active.get(tenantOf(scope)) ?? []];
  const found = sets.flatMap((set) => [...set].filter((each) => encloses(scope, each.scope)));
  found.sort((a, b) => b.scope.length - a.scope.length);
  for (const conversation of found) if (isHeld(conversation)) resume(core, conversation, how);
}

/** Something of it is as the log had it, and was not gone on with. */
export function isHeld({ turn, calls, questions }: Conversation): boolean {
  if (turn) return turn.phase.step === "held";
  return (
    [...calls.values()].some(({ held }) => held && !held.goes) ||
    [...questions.values()].some(({ asker }) => asker.type === "gone")
  );
}

/** Goes on with what was held, by the last that the log says of it (rules REC-4 and REC-5), or ends it. */
function resume(core: Core, conversation: Conversation, how: "resume" | "end"): void {
  const { turn } = conversation;
  if (how === "resume") core.comesBack();
  // Whoever asked is gone; what the policy asks is still to be answered.
  for (const question of [...conversation.questions.values()]) {
    if (question.asker.type === "gone") resolve(core, conversation, question, "cancelled");
  }
  const goes = ({ requester, returning }: Input): boolean =>
    how === "resume" && !returning && requester?.callId === undefined;
  giveBack(core, conversation, without(conversation.queue, goes));
  if (turn) giveBack(core, conversation, without(turn.steers, goes));
  // A child turn is of no use to a call whose link is gone.
  const ending = how === "end" || turn?.stopping !== undefined || (turn !== undefined && !goes(turn.input));
  goOn(core, conversation, ending);
}

/** Takes out those that do not pass. */
function without(inputs: Input[], passes: (input: Input) => boolean): Input[] {
  const others = inputs.filter((input) => !passes(input));
  inputs.splice(0, inputs.length, ...inputs.filter(passes));
  return others;
}

/** An interrupt reached a turn that is held: it ends now. */
export function endHeld(core: Core, conversation: Conversation): void {
  if (conversation.turn?.phase.step === "held") goOn(core, conversation, true);
}

function goOn(core: Core, conversation: Conversation, ending: boolean): void {
  const { turn, scope } = conversation;
  const phase = turn?.phase.step === "held" ? turn.phase : undefined;
  if (turn && phase) {
    turn.loopId ||= core.newId("l");
    if (phase.at === "calling") turn.phase = { step: "calling", calls: phase.calls };
    const state = { event_type: "scope_state", scope, state: "running", loop_id: turn.loopId, ts: core.now };
    if (!ending) core.effect(scope, { type: "publish", event: state });
  }
  for (const call of [...conversation.calls.values()]) {
    // One that was asked for since then is no part of what was cut off.
    if (!call.held) continue;
    if (ending || call.held.stopped) stopCall(core, conversation, call);
    else if (call.state === "returning") startCall(core, conversation, call);
  }
  if (turn && phase) {
    if (ending) endTurn(core, conversation, turn, phase);
    else goOnTurn(core, conversation, turn, phase);
  }
  core.settle(conversation);
}

function goOnTurn(core: Core, conversation: Conversation, turn: Turn, phase: Held): void {
  switch (phase.at) {
    case "asking":
      deliver(conversation, turn);
      turn.phase = { step: "pausing" };
      return again(core, conversation, turn, false);
    case "inferring":
      return inferred(core, conversation, turn, cutOff(turn, phase), {
        event_type: "bb_infer_result",
        in_reply_to: phase.request,
        success: false,
        error: RESTARTED,
        synthetic: true,
      });
    case "calling":
      return allCallsEnded(core, conversation);
    case "ended":
      keep(conversation, phase);
      return finish(core, conversation, turn, phase.end?.stopReason ?? "end_turn", phase.end?.error);
  }
}

/** The inference as it was when the Hub ended: what it said and was not a whole block is in no log. */
function cutOff(turn: Turn, { request, blocks }: Held): Extract<Turn["phase"], { step: "inferring" }> {
  const phase = {
    ...{ step: "inferring" as const, request, to: "", n: 0, origin: "", size: 0, heard: 0 },
    ...{ open: new Map(), blocks, offered: new Map(), xml: undefined },
  };
  turn.phase = phase;
  return phase;
}

function endTurn(core: Core, conversation: Conversation, turn: Turn, phase: Held): void {
  const { scope } = conversation;
  if (conversation.turn !== turn) return;
  const { loopId: loop_id, round, attempt } = turn;
  if (phase.at === "inferring") {
    core.append(scope, {
      ...{ event_type: "bb_infer_result", in_reply_to: phase.request, scope, loop_id, round, attempt },
      ...{ success: false, error: RESTARTED, synthetic: true, interrupted: true },
    });
  }
  if (phase.at === "calling" && turn.phase.step === "calling") addResults(conversation.messages, phase.calls);
  if (turn.phase.step === "held") deliver(conversation, turn);
  turn.phase = { step: "pausing" };
  keep(conversation, phase);
  const cutOff = { stopReason: "interrupted" as const, ...(turn.stopping ? {} : { error: RESTARTED }) };
  const { stopReason, error } = (phase.at === "ended" && phase.end) || { error: undefined, ...cutOff };
  finish(core, conversation, turn, stopReason, error);
}

/** What has run may have had its effect; what has not, does not run any more. */
function stopCall(core: Core, conversation: Conversation, call: Call): void {
  if (call.held?.shown) return didNotRun(core, conversation, call);
  if (call.held?.sent === true) unanswered(core, conversation, call);
  else refused(core, conversation, call, "cancelled", "Interrupted before it ran.");
}

/** Sends it, sends it again, or gives it up; what is missing its tool waits for it. */
export function startCall(core: Core, conversation: Conversation, call: Call): void {
  const { held } = call;
  if (!held || call.state !== "returning") return;
  if (held.sent && !held.again) return lost(core, conversation, call);
  if (held.shown) return didNotRun(core, conversation, call);
  if (held.refusal) return refused(core, conversation, call, held.refusal.status, held.refusal.why);
  held.goes = true;
  comeBack(core, conversation, call);
  if (call.state !== "returning") return;
  const { scope } = conversation;
  conversation.awaitsTools = true;
  core.effect(scope, { type: "timer", key: `returning:${scope}`, at: core.now + core.limits.returnMs });
}

/** Why it was refused, the Hub that did so knew. */
function didNotRun(core: Core, conversation: Conversation, call: Call): void {
  end(core, conversation, call, "error", [textBlock("The call was refused, so it did not run.")], true);
}

/** Its tool may be there again. */
function comeBack(core: Core, conversation: Conversation, call: Call): void {
  const { sent, approved } = call.held!;
  if (sent) return goAgain(core, conversation, call);
  const { scope } = conversation;
  const tool = offeredIn(core, scope).get(call.modelName) ?? findTool(core, scope, call.name)?.[1];
  if (!tool) return;
  call.tool = tool;
  call.name = tool.definition.name;
  delete call.held;
  if (approved === undefined) return begin(core, conversation, call);
  runApproved(core, conversation, call, tool, approved);
}

/** Tools were registered: calls that waited for them since the restart go on. */
export function toolsAreBack(core: Core): void {
  for (const set of [...core.active.values()]) {
    for (const conversation of [...set]) {
      for (const call of [...conversation.calls.values()]) {
        if (call.state === "returning" && call.held?.goes) comeBack(core, conversation, call);
      }
    }
  }
}

/** They were waited for long enough. */
export function notReturned(core: Core, scope: string): void {
  const conversation = core.conversations.get(scope);
  for (const call of [...(conversation?.calls.values() ?? [])]) {
    if (call.state !== "returning" || !call.held?.goes) continue;
    const { sent } = call.held;
    delete call.held;
    if (sent) lost(core, conversation!, call);
    else begin(core, conversation!, call);
  }
}
