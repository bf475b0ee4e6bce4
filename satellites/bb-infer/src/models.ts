export interface ListOptions {
  signal: AbortSignal;
  timeoutMs: number;
  headers?: Record<string, string> | undefined;
}

/** Ids of the chat models a server lists at `/models`; none where nothing answers in time, or something else does. */
export async function listModels(baseUrl: string, { signal, timeoutMs, headers = {} }: ListOptions): Promise<string[]> {
  try {
    const response = await fetch(`${baseUrl.replace(/\/+$/, "")}/models`, {
      headers,
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    });
    if (!response.ok) {
      await response.body?.cancel();
      return [];
    }
    const { data } = (await response.json()) as { data?: { id?: unknown }[] };
    const ids = Array.isArray(data) ? data.map(({ id }) => id) : [];
    return ids.filter((id): id is string => typeof id === "string" && !/embed/i.test(id));
  } catch {
    signal.throwIfAborted();
    return [];
  }
}
