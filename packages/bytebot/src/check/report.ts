import type { Outcome } from "./check.ts";

const words = { passed: "ok  ", failed: "FAIL", warned: "warn", not_applicable: "n/a " };
const arrows = { hub: "hub  →", satellite: "     ←", stderr: "stderr" };

/** An outcome for people: one line; where something is wrong, what was expected, what came, and the lines that show it. */
export function told({ rule, title, state, why, expected, got, fix, lines = [] }: Outcome): string {
  const first = `${words[state]} ${rule.padEnd(7)} ${title}`;
  if (state === "passed") return first;
  if (state === "not_applicable") return `${first}\n              not applicable: ${why}`;
  const details = [
    `expected  ${expected}`,
    `got       ${got}`,
    ...lines.map(({ from, line }) => `${arrows[from]}  ${line}`),
    ...(fix === undefined ? [] : [`fix       ${fix}`]),
  ];
  return [first, ...details.map((line) => `              ${line}`)].join("\n");
}

export type Summary = Record<Outcome["state"], number>;

export function summed(outcomes: readonly Outcome[]): Summary {
  const summary: Summary = { passed: 0, failed: 0, warned: 0, not_applicable: 0 };
  for (const { state } of outcomes) summary[state]++;
  return summary;
}

export function toldSummary({ passed, failed, warned, not_applicable }: Summary): string {
  return `${passed} passed, ${failed} failed, ${warned} warned, ${not_applicable} not applicable`;
}
