import { BytebotError } from "bytebot/sdk";
import { toReport } from "bytebot/wire";
import { Inapplicable, Unmet, type Check, type Outcome } from "./check.ts";
import type { Exam } from "./exam.ts";
import { checks } from "./table.ts";

/** Characters of what others wrote that are shown. */
const SHOWN = 600;

/** Runs all checks, one after the other, and yields their outcomes. Throws `cancelled` where it is stopped. */
export async function* run(exam: Exam, signal: AbortSignal): AsyncGenerator<Outcome> {
  let shut: string | undefined;
  for (const check of checks) {
    if (shut !== undefined) {
      const { name, title } = check;
      yield { check: name, title, state: "not_applicable", ms: 0, why: `it does not answer (${shut})` };
      continue;
    }
    const outcome = await perform(check, exam, signal);
    if (check.gate && outcome.state === "failed") shut = check.name;
    yield outcome;
  }
}

async function perform(check: Check, exam: Exam, signal: AbortSignal): Promise<Outcome> {
  const { name, title } = check;
  const began = performance.now();
  const outcome = (rest: Omit<Outcome, "check" | "title" | "ms">): Outcome => {
    return { check: name, title, ms: Math.round(performance.now() - began), ...rest };
  };
  exam.check = name;
  try {
    const note = await check.run(exam);
    signal.throwIfAborted();
    return outcome({ state: "passed", ...(note === undefined ? {} : { note: shown(note) }) });
  } catch (error) {
    if (signal.aborted) throw new BytebotError("cancelled", "the run was stopped");
    if (error instanceof Inapplicable) return outcome({ state: "not_applicable", why: shown(error.message) });
    const { expected, got, fix } = toUnmet(error);
    return outcome({ state: "failed", expected, got: shown(got), ...(fix === undefined ? {} : { fix: shown(fix) }) });
  }
}

/** A request that failed where an answer was due says itself what to do. */
function toUnmet(error: unknown): Unmet {
  if (error instanceof Unmet) return error;
  if (error instanceof BytebotError) return new Unmet("an answer", `${error.code}: ${error.message}`);
  throw error;
}

/** What a model or a server wrote, on one line of a terminal. */
function shown(text: string): string {
  const line = toReport(text.replaceAll(/\s+/g, " "));
  return line.length > SHOWN ? `${line.slice(0, SHOWN - 1)}…` : line;
}
