import { setTimeout as delay } from "node:timers/promises";
import { BytebotError } from "bytebot/sdk";
import type { Provider } from "../provider.ts";

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
  private readonly limits: RateOptions;
  private readonly waiting: (() => void)[] = [];
  private running = 0;
  private requests: Bucket;
  private tokens: Bucket;

  constructor(limits: RateOptions) {
    this.limits = limits;
    this.requests = new Bucket(limits.requests_per_minute);
    this.tokens = new Bucket(limits.tokens_per_minute);
  }

  /** Runs the work when its turn has come; its tokens count when they are known. */
  async run<T>(signal: AbortSignal, work: () => Promise<T>, tokensOf: (result: T) => number): Promise<T> {
    if (this.waiting.length >= MAX_WAITING) throw overloaded(`${MAX_WAITING} requests wait already`, MINUTE_MS);
    const late = AbortSignal.timeout(MAX_WAIT_MS);
    const either = AbortSignal.any([signal, late]);
    try {
      await this.enter(either);
    } catch (error) {
      if (late.aborted && !signal.aborted) throw overloaded("it waited for a minute", this.wait());
      throw error;
    }
    try {
      const result = await work();
      this.tokens.take(tokensOf(result));
      return result;
    } finally {
      this.leave();
    }
  }

  private async enter(signal: AbortSignal): Promise<void> {
    await this.place(signal);
    try {
      for (let wait = this.wait(); wait > 0; wait = this.wait()) await delay(wait, undefined, { signal });
      this.requests.take(1);
    } catch (error) {
      this.leave();
      throw error;
    }
  }

  /** One at a time waits for the buckets; with `at_once` so many run. */
  private async place(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.running < (this.limits.at_once ?? Infinity)) {
      this.running += 1;
      return;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const abort = () => {
      this.waiting.splice(this.waiting.indexOf(resolve), 1);
      reject(signal.reason as Error);
    };
    this.waiting.push(resolve);
    signal.addEventListener("abort", abort, { once: true });
    try {
      await promise;
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  private leave(): void {
    const next = this.waiting.shift();
    if (next) next();
    else this.running -= 1;
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
