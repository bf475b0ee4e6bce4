import * as calls from "./tools/calls.ts";
import type { Core, Happened } from "./core.ts";
import { endHeld, startCall, toolsAreBack } from "./recovery/resume.ts";
import { stopChildren } from "./turn/stop.ts";
import type { Work } from "./tenants/tenants.ts";
import { allCallsEnded, goOnWaiting } from "./turn/turn.ts";

/** What one part of a conversation told the others: they go on from it. */
export function goOn(core: Core, happened: Happened): void {
  switch (happened.type) {
    case "room":
      return fill(core, happened.tenant, happened.work);
    case "infer_settled": {
      const all = [...core.active.values()].flatMap((set) => [...set]);
      return all.forEach((conversation) => goOnWaiting(core, conversation, false));
    }
    case "tools_registered":
      return toolsAreBack(core);
    case "held_stopped":
      return endHeld(core, happened.conversation);
    case "call_returns": {
      const { conversation, call } = happened;
      // The call of a turn that is held waits with it.
      if (call.loopId !== undefined && conversation.turn?.phase.step === "held") return;
      return startCall(core, conversation, call);
    }
    case "call_ended":
      stopChildren(core, happened.call);
      return allCallsEnded(core, happened.conversation);
    case "approval_answered": {
      const { conversation, call, choice, outcome, by } = happened;
      return calls.approvalGiven(core, conversation, call, { choice, outcome, by });
    }
  }
}

/** A tenant has room: its conversations take it in a circle (rule QTA-2). */
function fill(core: Core, tenant: string, work: Work): void {
  for (let next = core.tenants.next(tenant, work); next; next = core.tenants.next(tenant, work)) {
    if (work === "infer") goOnWaiting(core, next, true);
    else calls.runNext(core, next);
  }
}
