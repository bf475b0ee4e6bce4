import { BytebotError } from "bytebot/sdk";

/** One piece of work at a time, in order; so many may wait, the next is refused as `overloaded`. */
export class Queue {
  private readonly limit: number;
  private tail: Promise<unknown> = Promise.resolve();
  private size = 0;

  constructor(limit: number) {
    this.limit = limit;
  }

  /** Settles as `work` does. Aborted while it waits, it rejects at once with `signal.reason` and never runs. */
  async run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    if (this.size > this.limit) {
      const message = `the embedded model answers one request at a time, and ${this.limit} wait already: try again later, or attach a second infer`;
      throw new BytebotError("overloaded", message, { retryable: true, retryAfterMs: 5_000 });
    }
    this.size += 1;
    const before = this.tail;
    const result = (async () => {
      try {
        await turn(before, signal);
        return await work();
      } finally {
        this.size -= 1;
      }
    })();
    // An aborted waiter leaves early; whoever is behind it still waits for what was before it.
    this.tail = Promise.allSettled([before, result]);
    return result;
  }

  /** Resolves when nothing runs or waits. */
  async idle(): Promise<void> {
    await this.tail;
  }
}

async function turn(before: Promise<unknown>, signal: AbortSignal): Promise<void> {
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(signal.reason as Error);
  signal.addEventListener("abort", abort, { once: true });
  try {
    await Promise.race([before, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
