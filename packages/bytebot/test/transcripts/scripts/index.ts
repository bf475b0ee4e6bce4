import type { Script } from "../script.ts";
import { blob } from "./blobs.ts";
import { deadContext, failedInference, lateContext } from "./contexts.ts";
import { childTurn, inputModes } from "./inputs.ts";
import { interruptText, interruptTool } from "./interrupts.ts";
import { telemetryWatches } from "./observed.ts";
import { approval, question } from "./questions.ts";
import { replay, slowReader } from "./replay.ts";
import { openaiShape, xmlTools } from "./shapes.ts";
import { loopLimit, parallelTools, toolError } from "./tools.ts";
import { twoRounds } from "./two-rounds.ts";

/** One for each behaviour, in the order of spec/README.md. */
export const scripts: readonly Script[] = [
  twoRounds,
  parallelTools,
  toolError,
  loopLimit,
  failedInference,
  lateContext,
  deadContext,
  interruptText,
  interruptTool,
  inputModes,
  question,
  approval,
  childTurn,
  blob,
  xmlTools,
  openaiShape,
  replay,
  slowReader,
  telemetryWatches,
];
