/** How long a budget lasts: from the beginning of each hour, day or month on, by UTC. */
export type Period = "hour" | "day" | "month";

const MS = { hour: 60 * 60 * 1000, day: 24 * 60 * 60 * 1000 };

/** When the period that `now` is in began, in milliseconds since 1970; 0 where there is none: with the log. */
export function beginOf(period: Period | undefined, now: number): number {
  if (period === undefined) return 0;
  if (period !== "month") return now - (now % MS[period]);
  const date = new Date(now);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth());
}

/** When it ends. */
export function endOf(period: Period, now: number): number {
  const begin = beginOf(period, now);
  if (period !== "month") return begin + MS[period];
  const date = new Date(begin);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
}
