import { join } from "node:path";
import type { ByManifest } from "../../src/app/component.ts";
import { reach } from "../../src/app/reach.ts";
import { run, type Outcome, type RunOptions } from "../../src/check/index.ts";
import type { Kind } from "../../src/wire/index.ts";

const base = join(import.meta.dirname, "fixtures");

/** A satellite of the fixtures, right, or wrong in the one way that is named. */
export function python(kind: Kind, wrong?: string): ByManifest {
  // Without what a site adds: a process starts in half the time.
  const command = ["python3", "-S", "-E", `${kind}.py`, ...(wrong === undefined ? [] : [wrong])];
  return { kind, entry: { type: "stdio", command } };
}

/** All outcomes of one run. */
export async function checked(
  component: Parameters<typeof reach>[0],
  options: Omit<RunOptions, "signal"> = {},
): Promise<Outcome[]> {
  const reached = await reach(component, { base, print: () => undefined });
  const outcomes: Outcome[] = [];
  const signal = new AbortController().signal;
  for await (const outcome of run(reached, { ...options, signal })) outcomes.push(outcome);
  return outcomes;
}
