import { setImmediate as turnOfTheLoop } from "node:timers/promises";

interface Due {
  at: number;
  order: number;
  act: () => void;
}

/** Of the event loop, in which somebody who reads may be on the way to something. */
const TURNS = 200;
const START = 1_700_000_000_000;

/**
 * Virtual time, and everything that is to happen in it, one thing after the other. What the Hub leaves to the microtask
 * queue has happened before the next thing does; nothing else runs, so the same seed gives the same run.
 */
export class Time {
  /** Turns of the event loop between two things that happen: whoever reads the log needs some for each entry. */
  turns = 1;
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

  /** Until nothing is left to happen, or `until` says so. What looks at the time that work takes sees this one, too. */
  async run(until: () => boolean): Promise<void> {
    performance.now = () => this.elapsed;
    try {
      await turnOfTheLoop();
      while (await this.stirs()) {
        const next = this.due.pop()!;
        this.time = Math.max(this.time, next.at);
        next.act();
        for (let turn = 0; turn < this.turns; turn++) await turnOfTheLoop();
        if (until()) return;
      }
    } finally {
      Reflect.deleteProperty(performance, "now");
    }
  }

  /** Is something to happen? Those who read the log take turns of the event loop until it is. */
  private async stirs(): Promise<boolean> {
    for (let turn = 0; turn < TURNS && this.due.length === 0; turn++) await turnOfTheLoop();
    return this.due.length > 0;
  }
}
