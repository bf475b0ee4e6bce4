import { setTimeout as delay } from "node:timers/promises";
import { BytebotError } from "bytebot/sdk";
import type { Provider } from "../provider.ts";
import { Queue } from "../queue.ts";
import { until } from "../until.ts";

/** What a key may do; what is absent is not limited. */
export interface RateOptions {
  at_once?: number | undefined;
  requests_per_minute?: number | undefined;
  tokens_per_minute?: number | undefined;
}

/** Requests of one key that may wait for their turn, and how long each. */
const MAX_WAITING = 100;
const MAX_WAIT_MS = 60_000;
const MINUTE_MS = 60_000;

/** The pace of one key, whatever models it is used for. Requests wait in order; too many or too long: `overloaded`. */
export class Rate {
  private readonly atOnce: number;
  private readonly line = new Queue(MAX_WAITING, () => overloaded(`${MAX_WAITING} requests wait already`, this.wait()));
  private readonly requests: Bucket;
  private readonly tokens: Bucket;
  private running = 0;
  private left = Promise.withResolvers<void>();

  constructor({ at_once = Infinity, requests_per_minute, tokens_per_minute }: RateOptions) {
    this.atOnce = at_once;
    this.requests = new Bucket(requests_per_minute);
    this.tokens = new Bucket(tokens_per_minute);
  }

  /** Runs the work when its turn has come; its tokens count when they are known. */
  async run<T>(signal: AbortSignal, work: () => Promise<T>, tokensOf: (result: T) => number): Promise<T> {
    const late = AbortSignal.timeout(MAX_WAIT_MS);
    const either = AbortSignal.any([signal, late]);
    try {
      await this.line.run(either, () => this.enter(either));
    } catch (error) {
      if (late.aborted && !signal.aborted) throw overloaded("it waited for a minute", this.wait());
      throw error;
    }
    try {
      const result = await work();
      this.tokens.take(tokensOf(result));
      return result;
    } finally {
      this.running -= 1;
      this.left.resolve();
      this.left = Promise.withResolvers();
    }
  }

  /** The first in line waits for room, then for the buckets. */
  private async enter(signal: AbortSignal): Promise<void> {
    while (this.running >= this.atOnce) await until(this.left.promise, signal);
    // No timer waits for weeks, and nobody here for more than a minute.
    for (let wait = this.wait(); wait > 0; wait = this.wait())
      await delay(Math.min(wait, MAX_WAIT_MS), undefined, { signal });
    this.requests.take(1);
    this.running += 1;
  }

  /** Milliseconds until both buckets have something. */
  private wait(): number {
    return Math.max(this.requests.wait(), this.tokens.wait());
  }
}

/** Fills evenly, up to a minute's worth; may be overdrawn by what was not known before. */
class Bucket {
  private readonly perMs: number;
  private readonly most: number;
  private level: number;
  private at = performance.now();

  constructor(perMinute = Infinity) {
    this.perMs = perMinute / MINUTE_MS;
    this.most = Math.max(1, perMinute);
    this.level = this.most;
  }

  wait(): number {
    if (this.most === Infinity) return 0;
    const now = performance.now();
    this.level = Math.min(this.most, this.level + (now - this.at) * this.perMs);
    this.at = now;
    return this.level >= 1 ? 0 : Math.ceil((1 - this.level) / this.perMs);
  }

  take(count: number): void {
    if (this.most !== Infinity) this.level -= count;
  }
}

function overloaded(why: string, retryAfterMs: number): BytebotError {
  const message = `the rate of this key (opts.rate) is used up, and ${why}: try again later, or raise it`;
  return new BytebotError("overloaded", message, { retryable: true, retryAfterMs: Math.min(retryAfterMs, MINUTE_MS) });
}

/** The provider at the pace of its key. */
export function paced(provider: Provider, rate: Rate): Provider {
  return {
    ...shownOf(provider),
    infer: (request, reply, context) =>
      rate.run(
        context.signal,
        () => provider.infer(request, reply, context),
        ({ usage = {} }) => (usage.input_tokens ?? 0) + (usage.output_tokens ?? 0),
      ),
  };
}

/** What of a provider stays as it is around it. */
export function shownOf(provider: Provider): Omit<Provider, "infer"> {
  const { label, media, capabilities } = provider;
  return { label, ...(media ? { media } : {}), capabilities, close: () => provider.close() };
}
