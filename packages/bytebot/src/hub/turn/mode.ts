import { encloses, type UserEvent } from "../../wire/index.ts";

/** What becomes of an input that comes while a turn runs (rule INP-3). */
export type Mode = NonNullable<UserEvent["mode"]>;

/** The mode of input that names none, in this scope and below it; "*" is everywhere. */
export interface InputRule {
  scope: string;
  mode: Mode;
}

/** What the input says, else the last rule that encloses its scope; undefined: it waits its turn (rule INP-5). */
export function modeOf(
  rules: readonly InputRule[],
  { mode, scope }: Pick<UserEvent, "mode" | "scope">,
): Mode | undefined {
  return mode ?? rules.findLast((rule) => encloses(rule.scope, scope))?.mode;
}
