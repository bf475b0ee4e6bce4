import { cellOf } from "../wire/index.ts";
import { Recent } from "./recent.ts";
import type { Conversation, Input, Turn } from "./state.ts";

/** An older approval is asked for again. */
const MAX_APPROVED = 1000;

/** One in which nothing was said yet. */
export function newConversation(scope: string): Conversation {
  return {
    scope,
    cell: cellOf(scope),
    about: undefined,
    messages: [],
    rendered: undefined,
    weight: undefined,
    queue: [],
    turn: undefined,
    calls: new Map(),
    questions: new Map(),
    seen: new Map(),
    awaitsTools: false,
    graceAt: undefined,
    approved: new Recent(MAX_APPROVED),
  };
}

/** A turn that has not asked for anything yet. */
export function newTurn(loopId: string, input: Input): Turn {
  return {
    loopId,
    input,
    round: 0,
    attempt: 0,
    phase: { step: "pausing" },
    current: undefined,
    steers: [],
    calls: 0,
    lastCall: "",
    sameCalls: 0,
    tokens: 0,
    stopping: undefined,
  };
}

/** Is anything going on in it? */
export function isBusy({ turn, queue, calls, questions }: Conversation): boolean {
  return turn !== undefined || queue.length > 0 || calls.size > 0 || questions.size > 0;
}
