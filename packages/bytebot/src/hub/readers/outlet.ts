import { HIGH_WATER, isStampedDelta, mergeDeltas, type Event, type StampedDelta } from "../../wire/index.ts";
import type { Link } from "../../transport/index.ts";
import type { Clock } from "../timers.ts";

/** What one connection may leave unread at all, in bytes: however fast it reads, more is not kept for it. */
const MAX_BYTES = 32 * 1024 * 1024;
/** So much may come at once; what leaves more unread has to read. */
const SLOW_BYTES = 8 * 1024 * 1024;
/** What has more than that to take, and takes nothing for so long, is closed. */
const SLOW_MS = 1000;
/** The same of what is behind. */
const STALL_MS = 10_000;
const LOOK_MS = 500;
/** What a delta takes beside its text, about. */
const ENVELOPE = 200;

export interface OutletOptions {
  clock: Clock;
  /** It reads too slowly: to be told and closed. */
  tooSlow: () => void;
}

/**
 * One connection's way out. Where more than the link's high-water mark is unread, live deltas are held back and joined,
 * block by block (rule CHK-7); anything else still leaves at once, after the held deltas of its scope. A connection is too
 * slow when it takes nothing for 10 s while it is behind, or for 1 s with more than 8 MiB to take: not when much comes at
 * once, as it cannot have read that yet (rule CON-9). Nobody waits for it: what it may leave unread is bounded, so no
 * producer is ever paused for a reader.
 */
export class Outlet {
  readonly link: Link;
  private readonly options: OutletOptions;
  private state: "flowing" | "behind" | "closed" = "flowing";
  /** The deltas held back, by scope, in their order. */
  private readonly held = new Map<string, StampedDelta[]>();
  private heldBytes = 0;
  /** Handed to the link since it fell behind; less what it still buffers, that is what was taken. */
  private given = 0;
  private taken = 0;
  private takenAt = 0;
  /** Since when more than `SLOW_BYTES` are unread. */
  private slowSince: number | undefined;
  private draining: "yes" | "no" = "no";
  private callOff: () => void = () => undefined;

  constructor(link: Link, options: OutletOptions) {
    this.link = link;
    this.options = options;
  }

  send(event: Event, line?: () => string): void {
    if (this.state === "flowing" && this.link.buffered < HIGH_WATER) return this.link.send(event, line);
    if (this.state === "closed") return;
    // What was unread before this event: one large line makes no slow reader.
    if (this.link.buffered + this.heldBytes > MAX_BYTES) return this.giveUp();
    if (this.state === "flowing") this.fallBehind();
    const scope = event["scope"];
    if (typeof scope !== "string") return this.pass(event);
    if (isStampedDelta(event)) return this.hold(scope, event);
    for (const delta of this.held.get(scope) ?? []) this.letGo(delta);
    this.held.delete(scope);
    this.pass(event);
  }

  get isClosed(): boolean {
    return this.state === "closed";
  }

  /** The link has ended, or is about to: nothing waits any more. */
  close(): void {
    this.state = "closed";
    this.held.clear();
    this.heldBytes = 0;
    this.callOff();
  }

  /** Bytes that wait for it. */
  get unread(): number {
    return this.state === "closed" ? 0 : this.link.buffered + this.heldBytes;
  }

  /** It reads too slowly: it is told, and closed. */
  giveUp(): void {
    if (this.state === "closed") return;
    this.close();
    this.options.tooSlow();
  }

  private fallBehind(): void {
    this.state = "behind";
    this.given = this.link.buffered;
    this.taken = 0;
    this.takenAt = this.options.clock.now();
    this.slowSince = undefined;
    this.look();
    this.wait();
  }

  /** Looks now and then what was taken. */
  private look(): void {
    const { clock } = this.options;
    this.callOff = clock.after(LOOK_MS, () => {
      const now = clock.now();
      const taken = this.given - this.link.buffered;
      if (taken > this.taken) this.takenAt = now;
      this.taken = taken;
      this.slowSince = this.unread > SLOW_BYTES ? (this.slowSince ?? now) : undefined;
      const isSlow = now - Math.max(this.takenAt, this.slowSince ?? Infinity) >= SLOW_MS;
      if (isSlow || now - this.takenAt >= STALL_MS) return this.giveUp();
      this.look();
      if (this.draining === "no") this.wait();
    });
  }

  private wait(): void {
    this.draining = "yes";
    void this.link.drained().then(() => this.drained());
  }

  private drained(): void {
    this.draining = "no";
    // Without room after all, the link is ending, or it is the next look's affair: never to ask again at once, for ever.
    if (this.state !== "behind" || this.link.buffered >= HIGH_WATER) return;
    for (const [scope, held] of this.held) {
      for (let delta = held.shift(); delta; delta = held.shift()) {
        this.letGo(delta);
        if (this.link.buffered >= HIGH_WATER) return this.wait();
      }
      this.held.delete(scope);
    }
    this.state = "flowing";
    this.callOff();
  }

  private pass(event: Event): void {
    const before = this.link.buffered;
    this.link.send(event);
    this.given += this.link.buffered - before;
  }

  private hold(scope: string, delta: StampedDelta): void {
    let held = this.held.get(scope);
    if (!held) this.held.set(scope, (held = []));
    const last = held.at(-1);
    const merged = last && mergeDeltas(last, delta);
    if (merged) held[held.length - 1] = merged;
    else {
      held.push(delta);
      this.heldBytes += ENVELOPE;
    }
    this.heldBytes += delta.delta.length;
  }

  private letGo(delta: StampedDelta): void {
    this.heldBytes -= delta.delta.length + ENVELOPE;
    this.pass(delta);
  }
}
