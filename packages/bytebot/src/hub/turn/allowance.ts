import { BytebotError, type TurnBudget, type WireError } from "../../wire/index.ts";
import type { Conversation, Input, Turn } from "../state.ts";

type Conversations = ReadonlyMap<string, Conversation>;

/** What whoever asked for this turn lets it use (rule TRN-13). */
function budgetOf({ requester, event }: Input): TurnBudget {
  const budget = requester ? event["budget"] : undefined;
  return typeof budget === "object" && budget !== null ? (budget as TurnBudget) : {};
}

/** Before an inference. Throws `budget_exceeded` where its own budget, or that of a turn around it, is used up. */
export function mustHaveAllowance(
  conversations: Conversations,
  conversation: Conversation,
  { round, input }: Turn,
): void {
  const { rounds = Infinity } = budgetOf(input);
  if (round >= rounds) throw new BytebotError("budget_exceeded", `the budget of this turn is ${rounds} rounds`);
  for (const turn of around(conversations, conversation)) {
    const { tokens = Infinity } = budgetOf(turn.input);
    if (turn.tokens < tokens) continue;
    const whose = turn.input === input ? "this turn" : "a turn that this one is part of";
    throw new BytebotError("budget_exceeded", `the budget of ${whose} is used up: ${turn.tokens} of ${tokens} tokens`);
  }
}

/** Why it makes no more calls, if it does not. */
export function beyondCalls({ calls, input }: Turn): WireError | undefined {
  const { calls: most = Infinity } = budgetOf(input);
  if (calls <= most) return undefined;
  return { code: "budget_exceeded", message: `the budget of this turn is ${most} tool calls`, retryable: false };
}

/** Counts to the turn, and to all that it is part of. */
export function useTokens(conversations: Conversations, conversation: Conversation, tokens: number): void {
  for (const turn of around(conversations, conversation)) turn.tokens += tokens;
}

/** The turn of this conversation, that of the call which asked for it, and so on. */
function* around(conversations: Conversations, conversation: Conversation): Generator<Turn> {
  for (let at: Conversation | undefined = conversation; at?.turn; at = callerOf(conversations, at)) yield at.turn;
}

/** The conversation whose turn made the call within which this one's was asked for: its scope is above. */
function callerOf(conversations: Conversations, { scope, turn }: Conversation): Conversation | undefined {
  const callId = turn?.input.requester?.callId;
  if (callId === undefined) return undefined;
  for (let end = scope.lastIndexOf("/~"); end !== -1; end = scope.lastIndexOf("/~", end - 1)) {
    const above = conversations.get(scope.slice(0, end));
    const call = above?.calls.get(callId);
    if (call) return call.loopId === undefined ? undefined : above;
  }
  return undefined;
}
