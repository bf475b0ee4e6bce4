import type { BytebotError, Event } from "../../wire/index.ts";
import type { Core } from "../core.ts";
import type { Batch } from "../effects.ts";
import { forget, reply } from "../seen.ts";
import type { Asker, Conversation } from "../state.ts";
import { notLogged } from "../turn/interrupt.ts";

/**
 * The log did not take what this cell did, so it did not happen: its work is cancelled, its state forgotten, whoever
 * waits for it answered, and its readers told, live only. What is in the log is what counts. `lost`: the batches that
 * were not logged; who waited for an answer that is in one of them has been told already.
 */
export function giveUp(core: Core, cell: string, lost: readonly Batch[], error: BytebotError): void {
  // A loop may have ended in what was lost: nobody has seen that end either.
  const loops = new Map<string, string>();
  for (const { loop_id, scope } of lost.flatMap((batch) => batch.append)) {
    if (typeof loop_id === "string") loops.set(loop_id, String(scope));
  }
  for (const conversation of [...core.loaded.of(cell)]) {
    const { scope } = conversation;
    if (conversation.turn) loops.set(conversation.turn.loopId, scope);
    stopWork(core, conversation);
    answerAll(core, conversation, error);
    for (const kind of ["grace", "retry", "return"]) core.effect(scope, { type: "clear", key: `${kind}:${scope}` });
    // What the log has of it counts: it is read when the cell is addressed again (rule LOG-4).
    conversation.turn = undefined;
    conversation.queue = [];
    conversation.calls.clear();
    conversation.questions.clear();
    core.settle(conversation);
    core.unload(conversation);
  }
  notLogged(core, cell, lost, error);
  for (const [loop_id, scope] of loops) {
    const end = { scope, loop_id, stop_reason: "error", ts: core.now };
    const done = { event_type: "infer_chunk", kind: "loop_done", ...end, error: error.toWire() };
    core.effect(scope, { type: "publish", event: done });
    core.effect(scope, { type: "publish", event: { event_type: "scope_state", state: "idle", ...end } });
  }
}

/** Whoever works for this conversation is told to stop; what it answers is too late. */
function stopWork(core: Core, { scope, calls }: Conversation): void {
  for (const [request, pending] of core.pending) {
    if (pending.scope !== scope) continue;
    core.cancel(scope, pending.to, request, "the log failed");
    core.drop(request);
  }
  for (const id of calls.keys()) core.effect(scope, { type: "clear", key: `call:${id}` });
}

/** Nobody waits for what will not come: askers get their failure, dialogs close, input goes back to who sent it. */
function answerAll(core: Core, conversation: Conversation, error: BytebotError): void {
  const { scope, turn, queue, calls, questions } = conversation;
  const fail = (to: Asker, type: string, more: Record<string, unknown> = {}): void => {
    const answer = { event_type: type, in_reply_to: to.id, scope, success: false, error: error.toWire(), ...more };
    reply(core, conversation, to, answer);
    forget(conversation, to.component, to.id);
  };
  const publish = (event: Event): void =>
    core.effect(scope, { type: "publish", event: { ...event, scope, ts: core.now } });
  for (const { id, asker } of questions.values()) {
    core.questions.delete(id);
    core.effect(scope, { type: "clear", key: `question:${id}` });
    publish({ event_type: "input_resolved", id, outcome: "cancelled" });
    if (!("connection" in asker)) continue;
    fail({ ...asker, id: asker.request }, "bb_input_result", { outcome: "cancelled" });
  }
  for (const { id, requester } of [...(turn?.steers ?? []), ...queue]) {
    if (requester) fail(requester, "bb_turn_result");
    else publish({ event_type: "input_state", id, fate: "returned" });
  }
  if (turn?.input.requester) fail(turn.input.requester, "bb_turn_result");
  for (const { id, requester } of calls.values()) {
    if (requester) fail(requester, "bb_tool_call_result", { call_id: id, status: "error" });
  }
}
