import { BytebotError } from "bytebot/sdk";

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/** Runs the work; the first signal aborts it as `cancelled`, and the second does what it always does. */
export async function stoppable<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController();
  // Not once: where a library listens too, and finds itself alone, it ends the process at the first.
  const hear = (name: NodeJS.Signals): void => {
    if (stop.signal.aborted) {
      process.removeAllListeners(name);
      process.kill(process.pid, name);
    }
    stop.abort(new BytebotError("cancelled", "the run was stopped"));
  };
  for (const name of SIGNALS) process.on(name, hear);
  try {
    return await work(stop.signal);
  } finally {
    for (const name of SIGNALS) process.off(name, hear);
  }
}
