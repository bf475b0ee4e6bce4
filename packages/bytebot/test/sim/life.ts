import { Hub, type Clock, type HubOptions } from "../../src/hub/index.ts";
import type { Recovery } from "../../src/hub/recovery/loading.ts";
import { INPUT, TENANTS } from "./tenants.ts";
import { HubLog } from "./hub-log.ts";
import { limits } from "./limits.ts";
import type { Random } from "./random.ts";
import type { Stage } from "./stage.ts";

/** How the Hub itself fares, beside its satellites. */
export interface Hard {
  /** It is killed after so many things that happen, about. */
  every: number;
  /** How often it dies between a commit and the log's answer, of 1. */
  atCommit: number;
  /** The same, after what a person said of what is under way. */
  atDecision: number;
  /** Longest time until the next Hub starts, in milliseconds. */
  downMs: number;
  /** Longest time that reading from the log takes, in milliseconds. */
  readMs: number;
  /** Cells that stay in memory though nothing goes on in them. */
  idle: number;
  /** Events that each cell's log keeps. */
  retention: number;
}

/** One Hub, from its start to its end. Killed, it does nothing any more: its log, its clock and its links are dead to it. */
export class Life implements Clock {
  readonly hub: Hub;
  /** Cells whose log refused it something. */
  readonly gaps = new Set<string>();
  /** Undefined: reading takes no time. */
  readonly reads: (() => Promise<void>) | undefined;
  /** Timers of this Hub's that have not come yet. */
  timers = 0;
  state: "restoring" | "up" | "dead" = "restoring";
  private readonly stage: Stage;
  private readonly recovery: Recovery;
  private readonly random: Random | undefined;

  constructor(stage: Stage, ids: Random, random?: Random) {
    this.stage = stage;
    this.random = random;
    const { hard, context } = stage.settings;
    this.recovery =
      random?.weighted([
        [8, "resume"],
        [1, "end"],
        [1, "wait"],
      ] as const) ?? "resume";
    if (hard && random && hard.readMs > 0) this.reads = () => this.wait(random.below(hard.readMs + 1));
    this.hub = new Hub({
      name: "sim",
      version: "0",
      log: new HubLog(stage.log, this),
      clock: this,
      // Counted, and never used up.
      budgets: { "*": { turns: 1e9, calls: 1e9, tokens: 1e9 } },
      limits: { ...limits, ...(hard ? { idle: hard.idle, returnMs: 5000 } : {}) },
      newId: (prefix) => `${prefix}_${ids.next().toString(36)}${ids.next().toString(36)}`,
      input: INPUT,
      report: (line) => void (this.isDead || stage.reported(line)),
      ...(hard ? this.hardly(hard) : {}),
    });
    if (context) this.hub.expectContext("context", ["*"]);
  }

  get isDead(): boolean {
    return this.state === "dead";
  }

  now(): number {
    return this.stage.time.now();
  }

  after(ms: number, call: () => void): () => void {
    let state: "waiting" | "over" = "waiting";
    const end = (): boolean => {
      if (state === "over") return false;
      state = "over";
      this.timers--;
      return true;
    };
    this.timers++;
    this.stage.time.in(Math.max(0, ms), () => {
      if (end() && !this.isDead) call();
    });
    return () => void end();
  }

  never(): Promise<never> {
    return new Promise(() => undefined);
  }

  /** Reads what was cut off; then components may come, and some time later it goes on. */
  async restore(): Promise<void> {
    const { hub, stage, random } = this;
    await hub.restore();
    if (this.isDead) return;
    this.state = "up";
    stage.tell("the Hub", `is up (${this.recovery})`);
    stage.time.in(random!.below(random!.pick([1, 50, 2000])), () => {
      if (this.isDead) return;
      hub.goOn();
      if (this.recovery === "wait") this.tellWhatWaits();
    });
  }

  /** The app says what becomes of what waits, tenant by tenant, until nothing is cut off any more. */
  private tellWhatWaits(): void {
    const { stage } = this;
    const random = this.random!;
    stage.time.in(random.below(stage.quiet ? 1 : 1000), () => {
      if (this.isDead) return;
      for (const tenant of TENANTS) this.hub.resume(tenant, random.chance(0.7) ? "resume" : "end");
      if (!stage.quiet) this.tellWhatWaits();
    });
  }

  private hardly({ retention }: Hard): Partial<HubOptions> {
    return { recovery: this.recovery, retention: { events: retention, bytes: Infinity } };
  }

  private async wait(ms: number): Promise<void> {
    if (this.isDead) return this.never();
    await new Promise<void>((resolve) => {
      this.stage.time.in(ms, () => {
        if (!this.isDead) resolve();
      });
    });
  }
}
