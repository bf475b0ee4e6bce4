import { setTimeout as delay } from "node:timers/promises";
import { BytebotError } from "bytebot/sdk";

const TRIES = 3;
const FIRST_MS = 500;
const LONGEST_MS = 30_000;

/**
 * Tries again while the failure is retryable and `again()` allows it: three times in all, after the time the server asked
 * for, else after 0.5 s and 1 s. A longer wait than 30 s is not waited but reported. An abort ends a wait at once.
 */
export async function retried<T>(attempt: () => Promise<T>, again: () => boolean, signal: AbortSignal): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof BytebotError) || !error.retryable || !again() || tries >= TRIES || signal.aborted)
        throw error;
      const wait = error.retryAfterMs ?? FIRST_MS * 2 ** (tries - 1);
      if (wait > LONGEST_MS) throw error;
      await delay(wait, undefined, { signal });
    }
  }
}
