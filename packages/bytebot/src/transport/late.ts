import { BytebotError, type Event } from "../wire/index.ts";
import type { Receiver } from "./link.ts";

/** What may come before the receiver does. */
const MAX_HELD = 1000;

/** Stands for a receiver that comes after its link: what came before it is handed over in order. */
export class LateReceiver implements Receiver {
  /** Resolves with the first event; never where none comes. */
  readonly first: Promise<Event>;
  /** Resolves when the link has closed. */
  readonly ended: Promise<undefined>;
  private readonly settleFirst: (event: Event) => void;
  private readonly settleEnded: () => void;
  private receiver: Receiver | undefined;
  private held: ((receiver: Receiver) => void)[] = [];
  private why: string | undefined;

  constructor() {
    const first = Promise.withResolvers<Event>();
    this.first = first.promise;
    this.settleFirst = first.resolve;
    const ended = Promise.withResolvers<undefined>();
    this.ended = ended.promise;
    this.settleEnded = () => ended.resolve(undefined);
  }

  become(receiver: Receiver): void {
    this.receiver = receiver;
    for (const tell of this.held.splice(0)) tell(receiver);
    if (this.why !== undefined) receiver.closed(this.why);
  }

  event(event: Event): void {
    this.settleFirst(event);
    if (this.receiver) return this.receiver.event(event);
    if (this.held.length >= MAX_HELD) throw new BytebotError("overloaded", "too much came before bb_sync was answered");
    this.held.push((receiver) => receiver.event(event));
  }

  settled(): Promise<void> | undefined {
    return this.receiver?.settled?.();
  }

  fault(error: BytebotError): void {
    if (this.receiver) this.receiver.fault(error);
    else if (this.held.length < MAX_HELD) this.held.push((receiver) => receiver.fault(error));
  }

  closed(reason: string): void {
    this.why = reason;
    this.settleEnded();
    this.receiver?.closed(reason);
  }
}
