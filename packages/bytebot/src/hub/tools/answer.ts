import { BytebotError, type Block } from "../../wire/index.ts";

/** An answer is bounded, whichever way it comes (rule CHK-1). */
export function tooLong(limit: number): BytebotError {
  return new BytebotError("too_large", `the answer is over ${limit} characters: what comes now is not kept`);
}

/** Characters that a whole block brings. `pieces`: its text came in deltas, which were counted. */
export function charactersOf(block: Block, pieces: boolean): number {
  if (!pieces) return JSON.stringify(block).length;
  const { type: _, text: __, thinking: ___, ...rest } = block as Record<string, unknown>;
  return Object.keys(rest).length === 0 ? 0 : JSON.stringify(rest).length;
}
