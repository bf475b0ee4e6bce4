import { accept, BytebotError, wide, type Event } from "../../src/wire/index.ts";
import type { Offer } from "../../src/hub/index.ts";
import type { Link, Receiver } from "../../src/transport/index.ts";
import type { Stage } from "./stage.ts";

/** What a satellite of the script hears. */
export interface Ears {
  event(event: Event, line: Line): void;
  closed(reason: string, line: Line): void;
}

/**
 * One connection: to the Hub it is a `Link` like any other. Each way keeps its order and takes the time the seed says; a
 * cut loses what is under way, or some of it.
 */
export class Line implements Link {
  readonly name: string;
  readonly number: number;
  readonly offer: Offer;
  readonly buffered = 0;
  /** The scopes and kind that the Hub granted, once it has. */
  ack: Event | undefined;
  /**
   * cut: the satellite is gone; closing: the Hub has said its last word; either way the Hub's `closed` is still to come.
   * severed: the Hub is gone, and the satellite's `closed` is still to come.
   */
  state: "open" | "cut" | "closing" | "severed" | "closed" = "open";
  hub!: Receiver;
  private readonly stage: Stage;
  private readonly ears: Ears;
  private keeps = false;
  private lastToHub = 0;
  private lastToSatellite = 0;
  private closing: PromiseWithResolvers<void> | undefined;

  constructor(stage: Stage, offer: Offer, ears: Ears, number: number) {
    this.stage = stage;
    this.offer = offer;
    this.ears = ears;
    this.number = number;
    this.name = `${offer.name}#${number}`;
  }

  /** From the Hub. */
  send(event: Event): void {
    if (this.state !== "open") return;
    const sent = accept(event, wide);
    if (sent.event_type === "bb_sync_ack") this.ack = sent;
    this.stage.sent(this, sent);
    this.lastToSatellite = this.deliver(this.lastToSatellite, () => {
      const arrives = this.state === "open" || this.state === "closing" || (this.state === "severed" && this.keeps);
      if (arrives) this.ears.event(sent, this);
    });
  }

  /** From the satellite. */
  say(event: Event): void {
    if (this.state !== "open") return;
    this.stage.received(this, event);
    this.lastToHub = this.deliver(this.lastToHub, () => {
      // What a satellite wrote before it died may still arrive.
      if (this.state !== "open" && !(this.state === "cut" && this.keeps)) return;
      try {
        this.hub.event(accept(event, wide));
      } catch (error) {
        this.hub.fault(BytebotError.from(error));
      }
    });
  }

  /** The satellite has died, or the network: the Hub learns of it later. */
  cut(reason: string): void {
    if (this.state !== "open") return;
    this.stage.tell(this.name, `cut: ${reason}`);
    this.state = "cut";
    this.keeps = this.stage.random.chance(0.5);
    this.stage.time.in(this.stage.latency(), () => this.end(reason));
  }

  /** The Hub was killed: what it had sent may still arrive, what was on its way to it does not. */
  sever(): void {
    if (this.state === "severed" || this.state === "closed") return;
    this.state = "severed";
    this.keeps = this.stage.random.chance(0.5);
    this.stage.closed(this);
    this.lastToSatellite = this.deliver(this.lastToSatellite, () => {
      this.state = "closed";
      this.ears.closed("the Hub was killed", this);
    });
  }

  async close(reason: string): Promise<void> {
    if (this.state === "closed") return;
    this.closing ??= Promise.withResolvers();
    if (this.state === "open") {
      this.state = "closing";
      this.lastToSatellite = this.deliver(this.lastToSatellite, () => this.end(reason));
    }
    await this.closing.promise;
  }

  drained(): Promise<void> {
    return Promise.resolve();
  }

  limit(): void {
    // Events pass whole: nothing is measured in bytes here.
  }

  private deliver(last: number, hand: () => void): number {
    const { time } = this.stage;
    const at = Math.max(last, time.now() + this.stage.latency());
    time.in(at - time.now(), hand);
    return at;
  }

  private end(reason: string): void {
    if (this.state === "severed" || this.state === "closed") return;
    this.state = "closed";
    this.stage.closed(this);
    this.hub.closed(reason);
    this.ears.closed(reason, this);
    this.closing?.resolve();
  }
}
