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

/** Both together, where a new period has not begun with the second: nothing that was used is ever left out of the newest. */
export function addSpent(before: Spent | undefined, more: Spent): Spent {
  if (!before || before.since < more.since) return more;
  return {
    since: before.since,
    turns: before.turns + more.turns,
    calls: before.calls + more.calls,
    tokens: before.tokens + more.tokens,
    cost: before.cost + more.cost,
  };
}
