import type { BytebotError } from "bytebot/sdk";
import { until } from "./until.ts";

/** One piece of work at a time, in order; so many may wait, the next is refused as `full` says. */
export class Queue {
  private readonly limit: number;
  private readonly full: () => BytebotError;
  private tail: Promise<unknown> = Promise.resolve();
  private size = 0;

  constructor(limit: number, full: () => BytebotError) {
    this.limit = limit;
    this.full = full;
  }

  /** Settles as `work` does. Aborted while it waits, it rejects at once with `signal.reason` and never runs. */
  async run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    if (this.size > this.limit) throw this.full();
    this.size += 1;
    const before = this.tail;
    const result = (async () => {
      try {
        await until(before, signal);
        return await work();
      } finally {
        this.size -= 1;
      }
    })();
    // An aborted waiter leaves early; whoever is behind it still waits for what was before it.
    // What they came to would else be kept, each in the next one's, for ever.
    this.tail = Promise.allSettled([before, result]).then(() => undefined);
    return result;
  }

  /** Resolves when nothing runs or waits. */
  async idle(): Promise<void> {
    await this.tail;
  }
}
