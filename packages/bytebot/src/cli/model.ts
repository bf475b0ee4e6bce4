import { createRequire } from "node:module";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { resolve } from "../resolve/index.ts";
import { BytebotError } from "../wire/index.ts";
import { progressOn, type Progress } from "./progress.ts";

/** Which model the person named; nothing named: the first that can be had. */
export type Wanted = Partial<Record<"provider" | "model" | "base_url" | "api_key_env", string | undefined>>;

/** How bb-infer is to be attached: its options, and what of the environment it may read. */
export interface Prepared {
  opts: Record<string, unknown>;
  env: string[];
}

/** What bb-infer exports for whoever starts it, beside its `main`. */
interface BbInfer {
  /** The model to take, and why. */
  choose(wanted: Wanted, options: { signal: AbortSignal }): Promise<Choice>;
  /** What of the environment this provider reads. */
  variablesOf(provider: string, keyEnv: string | undefined): string[];
  /** The path of the weights, downloaded first where needed. */
  prepareWeights(options: {
    model?: string | undefined;
    onProgress: (progress: Progress) => void;
    signal: AbortSignal;
  }): Promise<string>;
}

interface Choice {
  provider: string;
  model?: string | undefined;
  baseUrl?: string | undefined;
  keyEnv?: string | undefined;
  why: string;
}

/** The options for bb-infer, its weights in place; tells on stderr which model it is. Rejects where there is none. */
export async function prepareModel(wanted: Wanted, signal: AbortSignal): Promise<Prepared> {
  const infer = await load(process.cwd());
  const { provider, model, baseUrl, keyEnv, why } = await infer.choose(named(wanted), { signal });
  if (provider !== "embedded") {
    process.stderr.write(`model: ${model} at ${baseUrl ?? provider} (${why})\n`);
    const opts = named({ provider, model, base_url: baseUrl, api_key_env: keyEnv });
    return { opts, env: infer.variablesOf(provider, keyEnv) };
  }
  const bar = progressOn(process.stderr);
  try {
    const weights = await infer.prepareWeights({ model, onProgress: bar.show, signal });
    bar.end();
    process.stderr.write(`model: ${basename(weights)}, in this machine's memory (${why})\n`);
    return { opts: { provider, model: weights }, env: [] };
  } finally {
    bar.end();
  }
}

/** bb-infer takes an absent option, not an undefined one. */
function named(options: Record<string, string | undefined>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(options).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}

/** Found as a component is, and then imported as the package it is. */
async function load(base: string): Promise<BbInfer> {
  const { folder } = await resolve("bb-infer", { base });
  const module = createRequire(join(folder, "package.json")).resolve("bb-infer");
  try {
    return (await import(pathToFileURL(module).href)) as BbInfer;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new BytebotError("unavailable", `${module} cannot be loaded: ${why}`, { cause });
  }
}
