import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { resolve } from "../resolve/index.ts";
import { BytebotError } from "../wire/index.ts";
import { progressOn, type Progress } from "./progress.ts";

/** Which model the person named; nothing named: the first that can be had. */
export interface Wanted {
  provider?: string | undefined;
  model?: string | undefined;
  base_url?: string | undefined;
}

/** What bb-infer exports for whoever starts it, beside its `main`. */
interface BbInfer {
  /** The model to take and how bb-infer is to be started for it. */
  choose(wanted: Wanted, options: { signal: AbortSignal }): Promise<Choice>;
  /** The path of the weights, downloaded first where needed. */
  prepareWeights(options: {
    model?: string | undefined;
    onProgress: (progress: Progress) => void;
    signal: AbortSignal;
  }): Promise<string>;
}

interface Choice {
  provider: string;
  /** For people: which model answers, and from where. */
  label: string;
  opts: Record<string, unknown> & { model?: string };
}

/** The options for bb-infer, its weights in place; tells on stderr which model it is. Rejects where there is none. */
export async function prepareModel(wanted: Wanted, signal: AbortSignal): Promise<Record<string, unknown>> {
  const infer = await load(process.cwd());
  const { provider, label, opts } = await infer.choose(wanted, { signal });
  if (provider !== "embedded") {
    process.stderr.write(`model: ${label}\n`);
    return opts;
  }
  const bar = progressOn(process.stderr);
  try {
    const model = await infer.prepareWeights({ model: opts.model, onProgress: bar.show, signal });
    bar.end();
    process.stderr.write(`model: ${label}\n`);
    return { ...opts, model };
  } finally {
    bar.end();
  }
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
