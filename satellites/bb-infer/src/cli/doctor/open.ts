import { choose } from "../../choose.ts";
import { claims, open } from "../../open.ts";
import { knownOf } from "../../remote/known.ts";
import type { Subject } from "./exam.ts";

export interface OpenSubjectOptions {
  signal: AbortSignal;
  /** Takes a line for people: how far a download is. */
  report: (line: string) => void;
  env?: NodeJS.ProcessEnv | undefined;
}

/** Opens the model that these options mean, by the code that the satellite opens it with. Rejects with BytebotError. */
export async function openSubject(
  given: Record<string, unknown>,
  { signal, report, env = process.env }: OpenSubjectOptions,
): Promise<Subject> {
  // A fallback would answer in its place, and hide what is wrong.
  const opts = Object.fromEntries(Object.entries(given).filter(([name]) => name !== "fallbacks"));
  const choice = await choose(opts, { signal, env });
  const { capabilities } = await claims(choice, signal, env);
  let last = "";
  const onProgress = ({ stage, done, total }: { stage: string; done: number; total: number }) => {
    const line = `${stage} the model's weights ${total > 0 ? `${Math.floor((10 * done) / total) * 10} %` : ""}`.trim();
    if (line !== last) report(line);
    last = line;
  };
  return {
    provider: await open(choice, { signal, onProgress, env }),
    baseUrl: choice.kind === "remote" ? (choice.baseUrl ?? knownOf(choice.provider).baseUrl) : undefined,
    why: choice.why,
    capabilities,
    params: choice.options.params ?? {},
    key: keyOf(choice, env),
    reopen: (key) => open(choice, { signal, env: { ...env, ...key } }),
  };
}

/** The variable that holds the key, and the key's length; undefined where none is sent. */
function keyOf(choice: { kind: string; keyEnv?: string | undefined }, env: NodeJS.ProcessEnv): Subject["key"] {
  const { keyEnv } = choice;
  const length = keyEnv === undefined ? 0 : (env[keyEnv]?.trim().length ?? 0);
  return keyEnv === undefined || length === 0 ? undefined : { name: keyEnv, length };
}
