import type { BytebotError, Event } from "../wire/index.ts";
import type { Receiver } from "./link.ts";

/** Stands for a receiver that comes after its link: the Hub says nothing before `bb_sync`, but the link may end. */
export class LateReceiver implements Receiver {
  private receiver: Receiver | undefined;
  private why: string | undefined;

  become(receiver: Receiver): void {
    this.receiver = receiver;
    if (this.why !== undefined) receiver.closed(this.why);
  }

  event(event: Event): void {
    this.receiver?.event(event);
  }

  fault(error: BytebotError): void {
    this.receiver?.fault(error);
  }

  closed(reason: string): void {
    this.why = reason;
    this.receiver?.closed(reason);
  }
}
