import type { Check } from "./check.ts";
import { connectionChecks } from "./connection.ts";
import { contextChecks } from "./context.ts";
import { accessChecks } from "./http/access.ts";
import { comebackChecks } from "./http/comebacks.ts";
import { dialsChecks } from "./http/dials.ts";
import { inboxChecks } from "./http/inbox.ts";
import { returnChecks } from "./http/returns.ts";
import { servesChecks } from "./http/serves.ts";
import { inferChecks } from "./infer.ts";
import { readingChecks } from "./reading.ts";
import { sentChecks } from "./sent.ts";
import { telemetryChecks } from "./telemetry.ts";
import { textChecks } from "./text.ts";
import { toolsourceChecks } from "./toolsource.ts";
import { uiChecks } from "./ui.ts";

/** Every check there is, in the order of the report. */
export const checks: readonly Check[] = [
  ...connectionChecks,
  ...readingChecks,
  ...textChecks,
  ...sentChecks,
  ...servesChecks,
  ...inboxChecks,
  ...returnChecks,
  ...accessChecks,
  ...dialsChecks,
  ...comebackChecks,
  ...contextChecks,
  ...inferChecks,
  ...toolsourceChecks,
  ...uiChecks,
  ...telemetryChecks,
];
