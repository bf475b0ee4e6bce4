import type { Event } from "../wire/index.ts";
import { openChannel, type Channel, type Ear, type Raw, type Tested } from "./channel.ts";
import { Inapplicable, Unmet } from "./check.ts";
import { Dialing } from "./http/dialing.ts";
import { Serving } from "./http/serving.ts";
import { answersTo } from "./manners.ts";
import { Trace, type Received } from "./trace.ts";

interface Waiter {
  match: (event: Event) => boolean;
  settle: (event: Event) => void;
  fail: (got: string) => void;
}

const ENDLESS = "more lines than a check keeps: it does not stop sending";

/** The Hub's side of one connection, played by a script: it sends what a check says, and waits for what has to come. */
export class Peer implements Ear {
  readonly trace = new Trace();
  /** What a Hub answers by itself is answered, from the handshake on. */
  polite = false;
  /** What was asked of it, by `id` or `call_id`. */
  readonly asked = new Map<string, Event>();
  /** Its first bb_sync. */
  sync: Event | undefined;
  /** Why the connection ended. */
  ended: string | undefined;
  private channel!: Channel;
  private readonly waiters = new Set<Waiter>();
  private readonly gone = Promise.withResolvers<void>();
  private count = 0;
  /** What waits for a text that is being written. */
  private held: Event[] | undefined;

  static async open(reached: Tested, signal: AbortSignal): Promise<Peer> {
    const peer = new Peer();
    peer.channel = await openChannel(reached, peer.trace, peer, signal);
    return peer;
  }

  send(...events: Event[]): void {
    if (this.held) return void this.held.push(...events);
    for (const event of events) {
      const key = event.event_type === "bb_tool_call_request" ? event["call_id"] : event["id"];
      if (typeof key === "string") this.asked.set(key, event);
      this.channel.send(event);
    }
  }

  /** The bytes beneath. Throws Inapplicable where the transport has none of its own. */
  get raw(): Raw {
    if (this.channel.raw) return this.channel.raw;
    throw new Inapplicable("its transport carries no bytes of its own: this is seen over stdio or HTTP");
  }

  get hasBytes(): boolean {
    return this.channel.raw !== undefined;
  }

  /** The process on stdio. Throws Inapplicable where it is reached otherwise. */
  get process(): NonNullable<Channel["process"]> {
    if (this.channel.process) return this.channel.process;
    throw new Inapplicable("this is seen over stdio alone");
  }

  /** The connection to what serves HTTP. */
  get dialing(): Dialing {
    if (this.channel instanceof Dialing) return this.channel;
    throw new Inapplicable("this is seen of what serves HTTP");
  }

  /** The connection of what dials in. */
  get serving(): Serving {
    if (this.channel instanceof Serving) return this.channel;
    throw new Inapplicable("this is seen of what dials in");
  }

  /** Pieces of text as they are, their newlines in them; meanwhile nothing else is sent. */
  async write(...pieces: (string | Uint8Array)[]): Promise<void> {
    this.held ??= [];
    await this.raw.write(...pieces.map((piece) => Buffer.from(piece)));
    const { held = [] } = this;
    this.held = undefined;
    this.send(...held);
  }

  get received(): readonly Received[] {
    return this.trace.received;
  }

  events(type?: string): Event[] {
    return this.received.flatMap(({ event }) =>
      event && (type === undefined || event.event_type === type) ? [event] : [],
    );
  }

  /** The first event that matches, one that has come already or one that comes within `ms`; else Unmet. */
  wait(expected: string, match: (event: Event) => boolean, ms: number): Promise<Event> {
    const found = this.events().find(match);
    if (found) return Promise.resolve(found);
    if (this.ended !== undefined) return Promise.reject(new Unmet(expected, this.howEnded(), this.trace.last()));
    if (this.trace.overflow) return Promise.reject(new Unmet(expected, ENDLESS, this.trace.last()));
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => waiter.fail(`nothing of that in ${ms / 1000} s${this.noise()}`), ms);
      const over = (): void => {
        clearTimeout(late);
        this.waiters.delete(waiter);
      };
      const waiter: Waiter = {
        match,
        settle: (event) => {
          over();
          resolve(event);
        },
        fail: (got) => {
          over();
          reject(new Unmet(expected, got, this.trace.last()));
        },
      };
      this.waiters.add(waiter);
    });
  }

  /** True when the connection ends within `ms`. */
  async endsWithin(ms: number): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<false>((resolve) => (timer = setTimeout(() => resolve(false), ms)));
    const ended = await Promise.race([this.gone.promise.then(() => true as const), late]);
    clearTimeout(timer);
    return ended;
  }

  close(): Promise<void> {
    this.polite = false;
    return this.channel.close("the check is over");
  }

  heard(received: Received): void {
    const { event } = received;
    if (this.trace.overflow) {
      for (const waiter of this.waiters) waiter.fail(ENDLESS);
      return;
    }
    if (!event) return;
    if (event.event_type === "bb_sync") this.sync ??= event;
    for (const waiter of this.waiters) if (waiter.match(event)) waiter.settle(event);
    if (!this.polite) return;
    this.send(...answersTo(event, ++this.count));
    // A goodbye is answered, and the link closed, as a Hub does it.
    if (event.event_type === "bb_bye") {
      this.send({ event_type: "bb_bye", reason: "as you wish" });
      void this.channel.close("it said goodbye");
    }
  }

  closed(reason: string): void {
    this.ended = reason;
    for (const waiter of this.waiters) waiter.fail(this.howEnded());
    this.gone.resolve();
  }

  /** Left in good order: it said goodbye. */
  get left(): boolean {
    return this.events("bb_bye").length > 0;
  }

  private noise(): string {
    const faults = this.received.flatMap(({ fault }) => fault ?? []);
    if (faults.length === 0) return "";
    const lines = faults.length === 1 ? "a line that is no event" : `${faults.length} lines that are no events`;
    return `, but ${lines}: ${faults.at(-1)!.message}`;
  }

  private howEnded(): string {
    return `the end of the connection: ${this.ended}`;
  }
}
