import { BytebotError } from "../../wire/index.ts";
import type { Clock } from "../timers.ts";

/** What the store of blobs may take, in milliseconds. */
const STORE_MS = 30_000;

/** What the store of blobs answers; rejects with `unavailable` where it does not. */
export async function inTime<T>(clock: Clock, work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const message = `the store of blobs did not answer within ${STORE_MS / 1000} s`;
  const callOff = clock.after(STORE_MS, () =>
    late.reject(new BytebotError("unavailable", message, { retryable: true })),
  );
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    callOff();
  }
}
