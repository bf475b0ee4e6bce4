/** The promise's outcome, unless the signal aborts before. */
export async function until<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const stopped = Promise.withResolvers<never>();
  const abort = () => stopped.reject(signal.reason as Error);
  signal.addEventListener("abort", abort, { once: true });
  try {
    if (signal.aborted) throw signal.reason;
    return await Promise.race([promise, stopped.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
