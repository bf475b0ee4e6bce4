import { offer, type Offer } from "../../../src/hub/index.ts";
import type { Event, Kind } from "../../../src/wire/index.ts";
import type { Ears, Line } from "../line.ts";
import type { Random } from "../random.ts";
import type { Stage } from "../stage.ts";

/** What is asked again after the Hub was killed, under the same id. */
const REPEATED = new Set(["user_event", "interrupt", "bb_turn_request", "bb_tool_call_request"]);
/** While the Hub is down. */
const KNOCK_MS = 25;

/** A satellite of the script: it syncs, does what its kind does, dies now and then, and comes back. */
export abstract class Actor implements Ears {
  readonly stage: Stage;
  readonly random: Random;
  readonly offer: Offer;
  line: Line | undefined;
  /** The place in the log of the last event that it got. */
  protected cursor: string | undefined;
  /** What it asked and had no answer to, by its id; and the newest that was answered. */
  private readonly open = new Map<string, Event>();
  private answered: Event | undefined;
  private readonly sync: Event;

  constructor(stage: Stage, kind: Kind, name: string, fields: Partial<Offer> = {}, sync: Record<string, unknown> = {}) {
    this.stage = stage;
    this.random = stage.fork();
    this.offer = offer({ componentId: name, name, kind, controller: false, primary: false, ...fields });
    this.sync = { event_type: "bb_sync", kind, ...sync };
  }

  connect(): void {
    if (this.line) return;
    if (this.stage.life.state !== "up") return this.stage.time.in(KNOCK_MS, () => this.connect());
    this.line = this.stage.connect(this.offer, this);
    const again = [...this.open.values(), ...(this.answered ? [this.answered] : [])];
    this.say({ ...this.sync, ...(this.stage.settings.hard ? this.resume() : {}) });
    this.joined();
    if (this.stage.settings.hard) this.repeat(again);
  }

  event(event: Event, line: Line): void {
    if (line !== this.line) return;
    if (typeof event["cursor"] === "string") this.cursor = event["cursor"];
    const asked = this.open.get(String(event["in_reply_to"]));
    if (asked && this.open.delete(String(asked["id"]))) this.answered = asked;
    this.hear(event);
  }

  closed(_reason: string, line: Line): void {
    if (line !== this.line) return;
    this.line = undefined;
    if (this.stage.over) return;
    this.stage.time.in(this.random.chance(0.5) ? this.random.below(50) : this.random.below(1500), () => this.connect());
  }

  say(event: Event): void {
    const { id } = event;
    if (this.line && typeof id === "string" && REPEATED.has(event.event_type)) this.open.set(id, event);
    this.line?.say(event);
  }

  die(reason: string): void {
    this.line?.cut(reason);
  }

  /** After so many milliseconds, if it has not been cut off meanwhile. */
  later(ms: number, act: () => void): void {
    const { line } = this;
    this.stage.time.in(ms, () => {
      if (line && line === this.line && line.state === "open") act();
    });
  }

  /** Here it may die, if the seed wants. */
  maybeDie(): boolean {
    if (this.stage.quiet || !this.random.chance(this.stage.settings.crash)) return false;
    this.die("it crashed");
    return true;
  }

  newId(): string {
    return `${this.offer.componentId}-${this.random.next().toString(36)}${this.random.next().toString(36)}`;
  }

  /** What it syncs with beside the rest, where it was there before. */
  protected resume(): Record<string, unknown> {
    return {};
  }

  /** Nobody knows whether the Hub that was killed had heard it. */
  protected repeat(again: readonly Event[]): void {
    for (const event of again) if (this.random.chance(0.8)) this.say(event);
  }

  protected joined(): void {
    // Most have nothing to say before they are asked.
  }

  protected abstract hear(event: Event): void;
}
