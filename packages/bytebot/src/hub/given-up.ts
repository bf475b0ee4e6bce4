import type { BytebotError } from "../wire/index.ts";
import type { Core } from "./core.ts";

/**
 * The log did not take what this cell did, so it did not happen: its work is cancelled, its state forgotten, and its
 * readers told, live only. What is in the log is what counts.
 */
export function giveUp(core: Core, cell: string, error: BytebotError): void {
  for (const [scope, conversation] of core.conversations) {
    if (conversation.cell !== cell) continue;
    for (const [request, pending] of core.pending) {
      if (pending.scope !== scope) continue;
      core.cancel(scope, pending.to, request, "the log failed");
      core.drop(request);
    }
    for (const id of conversation.questions.keys()) core.questions.delete(id);
    const { turn } = conversation;
    conversation.turn = undefined;
    conversation.queue.length = 0;
    conversation.calls.clear();
    conversation.questions.clear();
    core.settle(conversation);
    core.conversations.delete(scope);
    if (!turn) continue;
    const end = { scope, loop_id: turn.loopId, stop_reason: "error", ts: core.now };
    const done = { event_type: "infer_chunk", kind: "loop_done", ...end, error: error.toWire() };
    core.effect(undefined, { type: "publish", event: done });
    core.effect(undefined, { type: "publish", event: { event_type: "scope_state", state: "idle", ...end } });
  }
}
