import type { Outcome } from "../../src/cli/doctor/check.ts";
import { Exam } from "../../src/cli/doctor/exam.ts";
import { openSubject } from "../../src/cli/doctor/open.ts";
import { run } from "../../src/cli/doctor/run.ts";

/** What the doctor finds of the model that these options mean. */
export async function examine(
  opts: Record<string, unknown>,
  env: NodeJS.ProcessEnv = {},
  timeoutMs = 20_000,
): Promise<Outcome[]> {
  const signal = AbortSignal.timeout(200_000);
  const subject = await openSubject(opts, { signal, env, report: () => undefined });
  try {
    return await all(run(new Exam(subject, { timeoutMs, signal }), signal));
  } finally {
    await subject.provider.close();
  }
}

export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}
