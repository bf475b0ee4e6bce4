import { Hub, type CoreLimits, type Offer } from "../../src/hub/index.ts";
import { tenantOf, type Event } from "../../src/wire/index.ts";
import type { Check } from "./checks/check.ts";
import { Gossip } from "./gossip.ts";
import { Line, type Ears } from "./line.ts";
import { SimLog, type Kept, type LogFaults } from "./log.ts";
import { Random } from "./random.ts";
import { Time } from "./time.ts";

/** What a seed decides before anything begins. */
export interface Settings {
  latencyMs: number;
  faults: LogFaults;
  /** How often a satellite dies where it may, of 1. */
  crash: number;
  context: boolean;
  /** How many things each UI does. */
  moves: number;
}

/** Short waits, so that a run of some seconds sees them all. Milliseconds. */
export const limits: Partial<CoreLimits> = {
  renderMs: 2000,
  inferIdleMs: 4000,
  toolMs: 3000,
  questionMs: 4000,
  graceMs: 1000,
  retryMs: 200,
  maxRetryMs: 3000,
  queue: 6,
  callsPerLoop: 8,
  sameCalls: 2,
};

/**
 * One run: the real `Hub`, not a model of its runner, on a clock, a log and links that the seed decides. The runner is
 * where order is kept and effects are held until their commit, so a model of it would prove the model. What makes this
 * a simulation all the same: everything that takes time is a `Time` event, and between two of them only microtasks run,
 * in the order the language fixes. It costs some tens of milliseconds a seed.
 */
export class Stage {
  readonly seed: number;
  readonly settings: Settings;
  readonly time = new Time();
  readonly random: Random;
  readonly log: SimLog;
  readonly hub: Hub;
  readonly checks: Check[] = [];
  readonly gossip = new Gossip();
  readonly lines: Line[] = [];
  readonly trace: (() => string)[] = [];
  failure: string | undefined;
  /** From here on nobody begins anything and nothing fails by itself: what runs has to end. */
  quiet = false;
  /** From here on the satellites do what they are asked and nothing else. */
  calm = false;
  /** The Hub is closing: nobody comes back. */
  over = false;
  private texts = 0;

  constructor(seed: number, settings: (random: Random) => Settings) {
    this.seed = seed;
    this.random = new Random(seed);
    this.settings = settings(this.random);
    this.log = new SimLog(this);
    const ids = this.fork();
    this.hub = new Hub({
      name: "sim",
      version: "0",
      log: this.log,
      clock: this.time,
      limits,
      newId: (prefix) => `${prefix}_${ids.next().toString(36)}${ids.next().toString(36)}`,
      report: (line) => this.reported(line),
    });
    if (this.settings.context) this.hub.expectContext("context", ["*"]);
  }

  get faults(): LogFaults {
    return this.settings.faults;
  }

  fork(): Random {
    return new Random(this.random.next());
  }

  latency(): number {
    return this.random.below(this.settings.latencyMs + 1);
  }

  /** Marks the text of a tenant: seen anywhere else, the wall has a hole. */
  canary(scope: string): string {
    return `canary-${tenantOf(scope)}`;
  }

  /** A text that is found again in the transcript. */
  text(scope: string): string {
    return `[#${++this.texts}] ${this.canary(scope)}`;
  }

  connect(offer: Offer, ears: Ears): Line {
    const line = new Line(this, offer, ears, this.lines.length);
    this.lines.push(line);
    this.tell(line.name, "opens");
    const connected = this.hub.connect(
      offer,
      (receiver) => {
        line.hub = receiver;
        return Promise.resolve(line);
      },
      new AbortController().signal,
    );
    connected.catch((error: unknown) => this.fail(`connect: ${String(error)}`));
    return line;
  }

  sent(line: Line, event: Event): void {
    this.note(() => `hub → ${line.name} ${JSON.stringify(event)}`);
    this.gossip.hear(event, line);
    this.each((check) => check.sent?.(line, event));
  }

  received(line: Line, event: Event): void {
    this.note(() => `${line.name} → ${JSON.stringify(event)}`);
    this.each((check) => check.received?.(line, event));
  }

  committed(entry: Kept): void {
    this.note(() => `log ${entry.cell} ${entry.pos} ${JSON.stringify(entry.events)}`);
    this.each((check) => check.committed?.(entry));
  }

  closed(line: Line): void {
    this.tell(line.name, "closed");
    this.each((check) => check.closed?.(line));
  }

  end(): void {
    this.each((check) => check.end?.());
  }

  tell(who: string, what: string): void {
    this.note(() => `${who} ${what}`);
  }

  fail(message: string): void {
    if (this.failure !== undefined) return;
    this.failure = message;
    this.tell("FAILED", message);
  }

  private note(line: () => string): void {
    const { elapsed } = this.time;
    this.trace.push(() => `${(elapsed / 1000).toFixed(3).padStart(8)} ${line()}`);
  }

  private each(run: (check: Check) => void): void {
    if (this.failure !== undefined) return;
    for (const check of this.checks) {
      try {
        run(check);
      } catch (error) {
        this.fail(`${check.constructor.name}: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
  }

  private reported(line: string): void {
    this.tell("report", line.split("\n")[0]!);
    // A refused append is the seed's doing; what else the Hub reports of itself is a fault of its own.
    if (line.startsWith("fault")) this.fail(line);
  }
}
