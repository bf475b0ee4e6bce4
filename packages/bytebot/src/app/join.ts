import { startInproc, type Main } from "../sdk/ambient.ts";
import { dialSocket, type Receiver } from "../transport/index.ts";
import type { BytebotError, Event } from "../wire/index.ts";

/**
 * Runs a satellite's `main` over the socket that another process's app listens on; settles as `main` does.
 * Rejects with BytebotError `unavailable` where nothing listens there.
 */
export async function join(path: string, main: Main, signal: AbortSignal): Promise<void> {
  const early = new Early();
  const link = await dialSocket(path)(early, signal);
  try {
    await startInproc(main, { name: "the app", opts: {}, signal, connect: (receiver) => early.become(receiver, link) });
  } finally {
    await link.close("its main ended");
  }
}

/** The link is open before `main` has its receiver: the Hub says nothing before `bb_sync`, but it may hang up. */
class Early implements Receiver {
  private receiver: Receiver | undefined;
  private why: string | undefined;

  become<Link>(receiver: Receiver, link: Link): Link {
    this.receiver = receiver;
    if (this.why !== undefined) receiver.closed(this.why);
    return link;
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
