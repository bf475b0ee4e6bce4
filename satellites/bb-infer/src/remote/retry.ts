import { setTimeout as delay } from "node:timers/promises";
import { BytebotError } from "bytebot/sdk";

/** Milliseconds; `tries` counts the first one too. */
export interface Retry {
  tries: number;
  first_ms: number;
  longest_ms: number;
}

export const defaultRetry: Retry = { tries: 3, first_ms: 500, longest_ms: 30_000 };

/**
 * Tries again while the failure is retryable and `again()` allows it, after the time the server asked for, else after
 * `first_ms`, twice that, and so on, each up to a quarter longer, so that many who failed together do not come back
 * together. A longer wait than `longest_ms` is not waited but reported, and so is a silence (`timeout`): it has cost so much
 * of the Hub's patience that a fallback should have the rest. An abort ends a wait at once.
 */
export async function retried<T>(
  attempt: () => Promise<T>,
  again: () => boolean,
  { tries, first_ms, longest_ms }: Retry,
  signal: AbortSignal,
): Promise<T> {
  for (let count = 1; ; count += 1) {
    try {
      return await attempt();
    } catch (error) {
      const mayGoOn = again() && count < tries && !signal.aborted;
      if (!(error instanceof BytebotError) || !error.retryable || error.code === "timeout" || !mayGoOn) throw error;
      const wait = error.retryAfterMs ?? first_ms * 2 ** (count - 1) * (1 + Math.random() / 4);
      if (wait > longest_ms) throw error;
      await delay(wait, undefined, { signal });
    }
  }
}
