import type { Check } from "./check.ts";
import { answerChecks } from "./checks/answers.ts";
import { cancelChecks } from "./checks/cancel.ts";
import { formChecks } from "./checks/forms.ts";
import { limitChecks } from "./checks/limits.ts";
import { thinkingChecks } from "./checks/thinking.ts";
import { toolChecks } from "./checks/tools.ts";

/**
 * Every check there is, in the order of the report. What looks at all answers so far stands behind what asks, and
 * last what may leave a server busy.
 */
export const checks: readonly Check[] = [
  ...answerChecks,
  ...toolChecks,
  ...formChecks,
  ...thinkingChecks,
  ...limitChecks,
  ...cancelChecks,
];
