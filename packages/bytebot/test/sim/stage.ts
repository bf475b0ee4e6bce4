import type { Hub, Offer } from "../../src/hub/index.ts";
import { tenantOf, type Event } from "../../src/wire/index.ts";
import type { NewEntry } from "../../src/log/index.ts";
import type { Check } from "./checks/check.ts";
import { Gossip } from "./gossip.ts";
import { Life, type Hard } from "./life.ts";
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
  /** How long anybody begins anything, in milliseconds. */
  activeMs: number;
  /** Undefined: the Hub lives as long as the run. */
  hard: Hard | undefined;
}

const killed = Symbol.for("bytebot.killed");

/** What comes of these is often in the next entry. */
const DECISIVE = new Set(["interrupt", "input_resolved"]);

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
  /** The Hub of now. */
  life: Life;
  /** How many entries the log had when a Hub was killed. */
  readonly cuts: number[] = [];
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
  private readonly ids: Random;
  /** What decides when a Hub dies. */
  private readonly fate: Random | undefined;
  /** Things that may still happen before the next one does. */
  private fuse = Infinity;

  constructor(seed: number, settings: (random: Random) => Settings) {
    this.seed = seed;
    this.random = new Random(seed);
    this.settings = settings(this.random);
    this.log = new SimLog(this);
    this.ids = this.fork();
    if (this.settings.hard) {
      this.fate = this.fork();
      this.time.turns = 4;
    }
    this.life = new Life(this, this.ids, this.fate);
    this.life.state = "up";
    this.light();
  }

  get hub(): Hub {
    return this.life.hub;
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

  /** Something has happened: now and then it was the Hub's last. */
  tick(): void {
    if (!this.quiet && --this.fuse <= 0) this.kill();
  }

  /** Its death is between a commit and the log's answer; rather after what a person said of what is under way. */
  diesAtCommit({ events }: NewEntry): boolean {
    const { hard } = this.settings;
    if (!hard || this.quiet) return false;
    const isDecisive = events.some(({ event_type }) => DECISIVE.has(event_type));
    if (!this.fate!.chance(isDecisive ? hard.atDecision : hard.atCommit)) return false;
    this.kill();
    return true;
  }

  /** No goodbye: its links are cut, its memory is gone, and what was on its way to the log is there or not. */
  kill(): void {
    const { life, fate } = this;
    this.light();
    if (life.isDead) return;
    this.tell("the Hub", "is killed");
    this.each((check) => check.dying?.());
    life.state = "dead";
    // Whoever audits the Hubs of tests does not wait for its close.
    (globalThis as { [killed]?: (hub: Hub) => void })[killed]?.(life.hub);
    this.log.cutOff();
    this.cuts.push(this.log.entries.length);
    for (const line of this.lines) line.sever();
    this.each((check) => check.died?.());
    this.time.in(fate!.below(this.settings.hard!.downMs + 1), () => {
      this.life = new Life(this, this.ids, fate);
      this.life.restore().catch((error: unknown) => this.fail(`restore: ${String(error)}`));
    });
  }

  /** Often soon after the one before: while the next is still reading, or going on. */
  private light(): void {
    const { fate } = this;
    if (!fate) return;
    this.fuse = fate.chance(0.3) ? fate.below(60) : fate.below(2 * this.settings.hard!.every);
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

  reported(line: string): void {
    this.tell("report", line.split("\n")[0]!);
    // A refused append is the seed's doing; what else the Hub reports of itself is a fault of its own.
    if (line.startsWith("fault")) this.fail(line);
  }
}
