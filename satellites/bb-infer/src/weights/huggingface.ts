import { BytebotError } from "bytebot/sdk";
import { needFolder } from "./cache.ts";
import type { Progress } from "./index.ts";

const STALL_MS = 60_000;

/** A file of a Hugging Face repository, kept in `folder`. Gated ones need HF_TOKEN. */
export async function fromHuggingFace(
  id: string,
  folder: string,
  onProgress: (progress: Progress) => void,
  signal: AbortSignal,
): Promise<string> {
  const { resolveModelFile } = await import("node-llama-cpp");
  await needFolder(folder);
  const stalled = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const alive = () => {
    clearTimeout(timer);
    timer = setTimeout(() => stalled.abort(new Error(`nothing came for ${STALL_MS / 1000} s`)), STALL_MS);
  };
  alive();
  try {
    const token = process.env["HF_TOKEN"];
    return await resolveModelFile(id, {
      directory: folder,
      cli: false,
      deleteTempFileOnCancel: false,
      signal: AbortSignal.any([signal, stalled.signal]),
      ...(token ? { tokens: { huggingFace: token } } : {}),
      onProgress: ({ downloadedSize: done, totalSize: total }) => {
        alive();
        onProgress({ stage: "download", done, total });
      },
    });
  } catch (cause) {
    const fix = `check the id (hf:user/repo/file.gguf), the network and HF_TOKEN, or download the file yourself and set opts.model to its path`;
    throw new BytebotError("unavailable", `${id} could not be fetched from Hugging Face (${(cause as Error).message}): ${fix}`, { cause, retryable: true });
  } finally {
    clearTimeout(timer);
  }
}
