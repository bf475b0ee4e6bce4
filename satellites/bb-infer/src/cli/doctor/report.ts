import type { Outcome } from "./check.ts";

const words = { passed: "ok  ", failed: "FAIL", not_applicable: "n/a " };
const INDENT = " ".repeat(24);

/** An outcome for people, on one line; where something is wrong, also what was expected, what came, and what to do. */
export function told({ check, title, state, ms, note, why, expected, got, fix }: Outcome): string {
  const time = ms < 1_000 ? `${ms} ms` : `${(ms / 1_000).toFixed(1)} s`;
  const first = `${words[state]} ${check.padEnd(17)} ${state === "not_applicable" ? "      –" : time.padStart(7)}  ${title}`;
  if (state === "passed") return note === undefined ? first : `${first}: ${note}`;
  if (state === "not_applicable") return `${first}: not applicable, as ${why}`;
  const details = [`expected  ${expected}`, `got       ${got}`, ...(fix === undefined ? [] : [`fix       ${fix}`])];
  return [first, ...details.map((line) => INDENT + line)].join("\n");
}

export type Summary = Record<Outcome["state"], number>;

export function summed(outcomes: readonly Outcome[]): Summary {
  const summary: Summary = { passed: 0, failed: 0, not_applicable: 0 };
  for (const { state } of outcomes) summary[state]++;
  return summary;
}

export function toldSummary({ passed, failed, not_applicable }: Summary): string {
  return `${passed} passed, ${failed} failed, ${not_applicable} not applicable`;
}
