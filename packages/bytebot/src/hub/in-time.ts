import { BytebotError } from "../wire/index.ts";
import type { Clock } from "./timers.ts";

/** What the store of blobs, or the log, may take to answer, in milliseconds. */
const STORE_MS = 30_000;

/** What `who` answers; rejects with `unavailable` where it does not. */
export async function inTime<T>(clock: Clock, work: Promise<T>, who = "the store of blobs"): Promise<T> {
  const late = Promise.withResolvers<never>();
  const message = `${who} did not answer within ${STORE_MS / 1000} s`;
  const callOff = clock.after(STORE_MS, () =>
    late.reject(new BytebotError("unavailable", message, { retryable: true })),
  );
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    callOff();
  }
}
