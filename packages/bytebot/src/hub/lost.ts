import { toReport } from "../wire/index.ts";
import type { Core } from "./core.ts";
import { cancelQuestions } from "./tools/questions.ts";
import { linkLost } from "./tools/results.ts";
import type { Synced } from "./state.ts";
import { finish, inferred } from "./turn/turn.ts";

/** A satellite is gone: everything that waited for it gets an end (rule CON-7). A UI's leaving ends nothing. */
export function lostLink(core: Core, connection: Synced, reason: string): void {
  const { id, offer } = connection;
  const error = { code: "unavailable", message: toReport(`${offer.name} is gone: ${reason}`), retryable: true };
  // First: the clock of a call stood still for its question, and what is left of its time decides below.
  for (const conversation of new Set(core.questions.values())) {
    cancelQuestions(core, conversation, ({ asker }) => "connection" in asker && asker.connection === id);
  }
  for (const [request, pending] of [...core.pending]) {
    if (pending.to !== id) continue;
    const conversation = core.conversations.get(pending.scope);
    const turn = conversation?.turn;
    if (!conversation) continue;
    const call = conversation.calls.get(request);
    if (call) linkLost(core, conversation, call);
    else if (turn?.phase.step === "rendering" && turn.phase.request === request)
      finish(core, conversation, turn, "error", error);
    else if (turn?.phase.step === "inferring" && turn.phase.request === request) {
      inferred(core, conversation, turn, turn.phase, {
        event_type: "bb_infer_result",
        in_reply_to: request,
        success: false,
        error,
        synthetic: true,
      });
    }
  }
}
