import { offer, type Offer } from "../../../src/hub/index.ts";
import type { Event, Kind } from "../../../src/wire/index.ts";
import type { Ears, Line } from "../line.ts";
import type { Random } from "../random.ts";
import type { Stage } from "../stage.ts";

/** A satellite of the script: it syncs, does what its kind does, dies now and then, and comes back. */
export abstract class Actor implements Ears {
  readonly stage: Stage;
  readonly random: Random;
  readonly offer: Offer;
  line: Line | undefined;
  private readonly sync: Event;

  constructor(stage: Stage, kind: Kind, name: string, fields: Partial<Offer> = {}, sync: Record<string, unknown> = {}) {
    this.stage = stage;
    this.random = stage.fork();
    this.offer = offer({ componentId: name, name, kind, controller: false, primary: false, ...fields });
    this.sync = { event_type: "bb_sync", kind, ...sync };
  }

  connect(): void {
    if (this.line) return;
    this.line = this.stage.connect(this.offer, this);
    this.say(this.sync);
    this.joined();
  }

  event(event: Event, line: Line): void {
    if (line === this.line) this.hear(event);
  }

  closed(_reason: string, line: Line): void {
    if (line !== this.line) return;
    this.line = undefined;
    if (this.stage.over) return;
    this.stage.time.in(this.random.chance(0.5) ? this.random.below(50) : this.random.below(1500), () => this.connect());
  }

  say(event: Event): void {
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

  protected joined(): void {
    // Most have nothing to say before they are asked.
  }

  protected abstract hear(event: Event): void;
}
