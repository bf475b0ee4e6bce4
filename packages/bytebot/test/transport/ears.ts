import { setTimeout as sleep } from "node:timers/promises";
import type { Receiver } from "../../src/transport/index.ts";
import type { BytebotError, Event } from "../../src/wire/index.ts";

const DEADLINE_MS = 10_000;

/** A receiver that keeps all it was told, and lets a test wait for more. */
export class Ears implements Receiver {
  readonly events: Event[] = [];
  readonly faults: BytebotError[] = [];
  readonly closings: string[] = [];
  private waiting: (() => void)[] = [];

  event(event: Event): void {
    this.events.push(event);
    this.changed();
  }

  fault(error: BytebotError): void {
    this.faults.push(error);
    this.changed();
  }

  closed(reason: string): void {
    this.closings.push(reason);
    this.changed();
  }

  /** The next event of this type, from the first on; each is handed out once. */
  async next(type: string): Promise<Event> {
    const event = await this.until(`event ${type}`, () =>
      this.events.find((each) => each.event_type === type && !this.taken.has(each)),
    );
    this.taken.add(event);
    return event;
  }

  count(events: number): Promise<Event[]> {
    return this.until(`${events} events`, () => (this.events.length >= events ? this.events : undefined));
  }

  /** The codes of the first faults. */
  async codes(faults: number): Promise<string[]> {
    await this.until(`${faults} faults`, () => (this.faults.length >= faults ? true : undefined));
    return this.faults.slice(0, faults).map(({ code }) => code);
  }

  end(): Promise<string> {
    return this.until("the end", () => this.closings[0]);
  }

  private readonly taken = new Set<Event>();

  private async until<Found>(what: string, find: () => Found | undefined): Promise<Found> {
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(
      () => late.reject(new Error(`no ${what} within ${DEADLINE_MS} ms; heard ${this.heard()}`)),
      DEADLINE_MS,
    );
    try {
      for (;;) {
        const found = find();
        if (found !== undefined) return found;
        await Promise.race([new Promise<void>((resolve) => this.waiting.push(resolve)), late.promise]);
      }
    } finally {
      clearTimeout(timer);
    }
  }

  private heard(): string {
    const types = this.events.slice(-5).map(({ event_type }) => event_type);
    return JSON.stringify({
      events: this.events.length,
      types,
      faults: this.faults.map(String).slice(-5),
      closings: this.closings,
    });
  }

  private changed(): void {
    const waiting = this.waiting;
    this.waiting = [];
    for (const resolve of waiting) resolve();
  }
}

/** For what tells nobody when it changes, such as /proc. */
export async function becomes(what: string, holds: () => boolean, deadlineMs = DEADLINE_MS): Promise<void> {
  const deadline = performance.now() + deadlineMs;
  while (!holds()) {
    if (performance.now() > deadline) throw new Error(`not within ${deadlineMs} ms: ${what}`);
    await sleep(10);
  }
}
