import { accept, BytebotError, wide, type Event } from "../wire/index.ts";
import type { Link, Receiver } from "./link.ts";

/**
 * A connection inside one process: the same events as objects, checked like lines, frozen, never serialised (rule FRM-10).
 * Both ends deliver in a microtask of their own, so that a sender never runs its receiver's code.
 */
export function inprocPair(name: string, hub: Receiver, satellite: Receiver): { hub: Link; satellite: Link } {
  const toHub = new InprocLink(`the Hub, from ${name}`, hub);
  const toSatellite = new InprocLink(name, satellite);
  toHub.peer = toSatellite;
  toSatellite.peer = toHub;
  return { hub: toSatellite, satellite: toHub };
}

class InprocLink implements Link {
  readonly name: string;
  readonly buffered = 0;
  peer!: InprocLink;
  private readonly receiver: Receiver;
  /** Events, and in their place the faults of what was none. */
  private queue: (Event | BytebotError)[] = [];
  private next = 0;
  private state: "open" | "closed" = "open";

  constructor(name: string, receiver: Receiver) {
    this.name = name;
    this.receiver = receiver;
  }

  send(event: Event): void {
    if (this.state === "closed") return;
    // Over a stream the receiver would meet the bad line; here too it is the one to refuse it.
    if (this.queue.push(acceptOrFault(event)) === 1) queueMicrotask(() => this.deliver());
  }

  drained(): Promise<void> {
    return Promise.resolve();
  }

  limit(): void {
    // First-party code in our own process: the wide limits hold from the start.
  }

  async close(reason: string): Promise<void> {
    if (this.state === "closed") return;
    this.deliver();
    if (this.end()) this.receiver.closed(reason);
    await this.peer.close(reason);
  }

  /** False where a receiver, called by the last delivery, has closed the link itself. */
  private end(): boolean {
    const first = this.state === "open";
    this.state = "closed";
    return first;
  }

  /** May be entered again from a receiver that closes: the inner call goes on where the outer one stands. */
  private deliver(): void {
    while (this.state === "open" && this.next < this.queue.length) this.hand(this.queue[this.next++]!);
    this.queue = [];
    this.next = 0;
  }

  private hand(item: Event | BytebotError): void {
    if (item instanceof BytebotError) return this.receiver.fault(item);
    try {
      this.receiver.event(item);
    } catch (error) {
      this.receiver.fault(BytebotError.from(error));
    }
  }
}

function acceptOrFault(event: Event): Event | BytebotError {
  try {
    return accept(event, wide);
  } catch (error) {
    return BytebotError.from(error);
  }
}
