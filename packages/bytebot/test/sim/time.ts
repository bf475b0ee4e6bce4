import { setImmediate as turnOfTheLoop } from "node:timers/promises";
import type { Clock } from "../../src/hub/index.ts";

interface Due {
  at: number;
  order: number;
  act: () => void;
}

const START = 1_700_000_000_000;

/**
 * Virtual time, and everything that is to happen in it, one thing after the other. What the Hub leaves to the microtask
 * queue has happened before the next thing does; nothing else runs, so the same seed gives the same run.
 */
export class Time implements Clock {
  /** Timers of the Hub's that have not come yet. */
  hubTimers = 0;
  private time = START;
  private order = 0;
  /** Sorted, the next last. */
  private readonly due: Due[] = [];

  now(): number {
    return this.time;
  }

  /** Milliseconds since the beginning. */
  get elapsed(): number {
    return this.time - START;
  }

  /** A timer of the Hub's. */
  after(ms: number, call: () => void): () => void {
    let state: "waiting" | "over" = "waiting";
    const end = (): boolean => {
      if (state === "over") return false;
      state = "over";
      this.hubTimers--;
      return true;
    };
    this.hubTimers++;
    this.in(Math.max(0, ms), () => {
      if (end()) call();
    });
    return () => void end();
  }

  in(ms: number, act: () => void): void {
    const at = this.time + Math.ceil(ms);
    const order = this.order++;
    let low = 0;
    let high = this.due.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.due[middle]!.at > at) low = middle + 1;
      else high = middle;
    }
    this.due.splice(low, 0, { at, order, act });
  }

  /** Until nothing is left to happen, or `until` says so. */
  async run(until: () => boolean): Promise<void> {
    await turnOfTheLoop();
    for (let next = this.due.pop(); next; next = this.due.pop()) {
      this.time = Math.max(this.time, next.at);
      next.act();
      await turnOfTheLoop();
      if (until()) return;
    }
  }
}
