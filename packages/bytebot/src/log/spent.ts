/** What a tenant has used up since the beginning of a period (`since`, milliseconds since 1970; 0: of this log). */
export interface Spent {
  since: number;
  turns: number;
  calls: number;
  tokens: number;
  /** In the unit of the app's prices. */
  cost: number;
}

export function nothingSpent(since: number): Spent {
  return { since, turns: 0, calls: 0, tokens: 0, cost: 0 };
}

/** Both together; what belongs to an earlier period is over. */
export function addSpent(before: Spent | undefined, more: Spent): Spent {
  if (!before || before.since < more.since) return more;
  if (before.since > more.since) return before;
  return {
    since: more.since,
    turns: before.turns + more.turns,
    calls: before.calls + more.calls,
    tokens: before.tokens + more.tokens,
    cost: before.cost + more.cost,
  };
}
