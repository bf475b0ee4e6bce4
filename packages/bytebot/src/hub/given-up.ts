import type { BytebotError, Event } from "../wire/index.ts";
import type { Core } from "./core.ts";

/**
 * The log did not take what this cell did, so it did not happen: its work is cancelled, its state forgotten, and its
 * readers told, live only. What is in the log is what counts. `lost`: the events that were not logged.
 */
export function giveUp(core: Core, cell: string, lost: readonly Event[], error: BytebotError): void {
  // A loop may have ended in what was lost: nobody has seen that end either.
  const loops = new Map<string, string>();
  for (const { loop_id, scope } of lost) if (typeof loop_id === "string") loops.set(loop_id, String(scope));
  for (const [scope, conversation] of core.conversations) {
    if (conversation.cell !== cell) continue;
    for (const [request, pending] of core.pending) {
      if (pending.scope !== scope) continue;
      core.cancel(scope, pending.to, request, "the log failed");
      core.drop(request);
    }
    for (const id of conversation.questions.keys()) {
      core.questions.delete(id);
      core.effect(scope, { type: "clear", key: `question:${id}` });
    }
    for (const kind of ["grace", "retry"]) core.effect(scope, { type: "clear", key: `${kind}:${scope}` });
    if (conversation.turn) loops.set(conversation.turn.loopId, scope);
    conversation.turn = undefined;
    conversation.queue.length = 0;
    conversation.calls.clear();
    conversation.questions.clear();
    core.settle(conversation);
    core.conversations.delete(scope);
  }
  for (const [loop_id, scope] of loops) {
    const end = { scope, loop_id, stop_reason: "error", ts: core.now };
    const done = { event_type: "infer_chunk", kind: "loop_done", ...end, error: error.toWire() };
    core.effect(scope, { type: "publish", event: done });
    core.effect(scope, { type: "publish", event: { event_type: "scope_state", state: "idle", ...end } });
  }
}
