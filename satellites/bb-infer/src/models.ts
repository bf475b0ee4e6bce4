import { readModels } from "./listing.ts";

export interface ListOptions {
  signal: AbortSignal;
  timeoutMs: number;
  headers?: Record<string, string> | undefined;
}

/** Ids of the chat models a server lists at `/models`; none where nothing answers in time, or something else does. */
export async function listModels(baseUrl: string, options: ListOptions): Promise<string[]> {
  try {
    const { models } = await readModels({ ...options, baseUrl, style: "openai", key: undefined });
    return models.map(({ id }) => id);
  } catch {
    options.signal.throwIfAborted();
    return [];
  }
}
