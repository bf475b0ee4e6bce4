import { BytebotError } from "../wire/index.ts";
import type { Core } from "./core.ts";
import { expired } from "./tools/questions.ts";
import { notReturned } from "./recovery/resume.ts";
import { timedOut } from "./tools/results.ts";
import { graceOver } from "./turn/stop.ts";
import { finish, inferred, notBack, retry } from "./turn/turn.ts";

/** A deadline set by an earlier step has come. A timer whose reason is gone changes nothing. */
export function timer(core: Core, key: string): void {
  const at = key.indexOf(":");
  const subject = key.slice(at + 1);
  switch (key.slice(0, at)) {
    case "sync": {
      const error = new BytebotError("timeout", `no bb_sync within ${core.limits.syncMs / 1000} s`);
      if (core.connections.get(subject)?.state !== "new") return;
      core.refuse(subject, error);
      return core.effect(undefined, { type: "close", to: subject, reason: error.message });
    }
    case "render":
      return asks(core, subject) ? undefined : silent(core, subject, "the context");
    case "infer":
      return silent(core, subject, "the infer");
    case "call":
      return timedOut(core, subject);
    case "question":
      return expired(core, subject);
    case "grace":
      return graceOver(core, subject);
    case "returning":
      return notReturned(core, subject);
    case "return":
      return notBack(core, subject);
    case "retry":
      return retry(core, subject);
  }
}

/** The context waits for a person: its time begins anew, and the question has its own deadline (rule TRN-3). */
function asks(core: Core, request: string): boolean {
  const pending = core.pending.get(request);
  const open = [...(core.conversations.get(pending?.scope ?? "")?.questions.values() ?? [])];
  if (!pending || !open.some(({ asker }) => asker.type === "context" && asker.connection === pending.to)) return false;
  core.effect(pending.scope, { type: "timer", key: `render:${request}`, at: core.now + core.limits.renderMs });
  return true;
}

/** A request was not answered: the turn ends, and whoever was asked is told to stop. */
function silent(core: Core, request: string, who: string): void {
  const pending = core.pending.get(request);
  const conversation = pending && core.conversations.get(pending.scope);
  const turn = conversation?.turn;
  if (!pending || !turn) return;
  const { phase } = turn;
  const { inferIdleMs, renderMs } = core.limits;
  if (phase.step === "inferring" && core.now < phase.heard + inferIdleMs) {
    return core.effect(conversation.scope, { type: "timer", key: `infer:${request}`, at: phase.heard + inferIdleMs });
  }
  const ms = phase.step === "inferring" ? inferIdleMs : renderMs;
  core.cancel(conversation.scope, pending.to, request, "timeout");
  const error = {
    code: phase.step === "rendering" ? "unavailable" : "timeout",
    message: `${who} was silent for ${ms / 1000} s`,
    retryable: true,
  };
  if (phase.step === "inferring") {
    inferred(core, conversation, turn, phase, {
      event_type: "bb_infer_result",
      in_reply_to: request,
      success: false,
      error: { ...error, retryable: false },
      synthetic: true,
    });
  } else finish(core, conversation, turn, "error", error);
}
