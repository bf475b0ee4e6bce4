/** Time, from outside: milliseconds since 1970, and a call after some of them. */
export interface Clock {
  now(): number;
  /** Calls once after `ms`; the answer calls it off. */
  after(ms: number, call: () => void): () => void;
}

const LONGEST_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, call) {
    const timer = setTimeout(call, Math.min(Math.max(0, ms), LONGEST_MS));
    return () => clearTimeout(timer);
  },
};

/** Deadlines by key; setting one again moves it. */
export class Timers {
  private readonly timers = new Map<string, () => void>();
  private readonly clock: Clock;
  private readonly fire: (key: string) => void;

  constructor(clock: Clock, fire: (key: string) => void) {
    this.clock = clock;
    this.fire = fire;
  }

  set(key: string, at: number): void {
    this.clear(key);
    const callOff = this.clock.after(at - this.clock.now(), () => {
      // A timer may come a moment before the clock says so, and a far one comes long before: it is not time yet.
      if (this.clock.now() < at) return this.set(key, at);
      this.timers.delete(key);
      this.fire(key);
    });
    this.timers.set(key, callOff);
  }

  clear(key: string): void {
    this.timers.get(key)?.();
    this.timers.delete(key);
  }

  get size(): number {
    return this.timers.size;
  }

  clearAll(): void {
    for (const callOff of this.timers.values()) callOff();
    this.timers.clear();
  }
}
