import { offer, type Hub } from "../hub/index.ts";
import { inprocPair, type Link } from "../transport/index.ts";
import { accept, BytebotError, wide, type Event, type WireError } from "../wire/index.ts";

const ANSWER_MS = 30_000;

interface Waiting {
  resolve: (event: Event) => void;
  reject: (error: BytebotError) => void;
}

/** The app's own connection: it speaks the wire like everybody else, as the owner. */
export class Owner {
  private readonly waiting = new Map<string, readonly Waiting[]>();
  private readonly relayed = new Map<string, (event: Event) => void>();
  private link!: Link;
  /** How fast what it asked for may come: where it goes on to somebody else, as fast as that one takes it. */
  pace: () => Promise<void> = () => Promise.resolve();
  /** Its connection at the Hub. */
  id = "";

  static async connect(hub: Hub): Promise<Owner> {
    const owner = new Owner();
    const synced = Promise.withResolvers<void>();
    const receiver = {
      event: (event: Event) => (event.event_type === "bb_sync_ack" ? synced.resolve() : owner.receive(event)),
      fault: (error: BytebotError) => owner.end(error),
      closed: (reason: string) => owner.end(new BytebotError("unavailable", `the Hub has closed: ${reason}`)),
    };
    const from = offer({
      componentId: "app",
      name: "app",
      owner: true,
      primary: false,
      controller: false,
      inputCapable: true,
      vouches: true,
    });
    const connection = await hub.connect(
      from,
      async (hubReceiver) => {
        const pair = inprocPair("app", hubReceiver, receiver);
        owner.link = pair.satellite;
        // It reads with `events()`, so nothing is shown to it; and nobody waits for it to answer a question.
        pair.satellite.send({
          event_type: "bb_sync",
          kind: "ui",
          owner: true,
          input_capable: false,
          primary: false,
          types: [],
        });
        const { hub: end } = pair;
        return {
          name: end.name,
          buffered: 0,
          send: (event) => end.send(event),
          drained: () => owner.pace(),
          limit: (limits) => end.limit(limits),
          close: (reason) => end.close(reason),
        };
      },
      AbortSignal.timeout(ANSWER_MS),
    );
    owner.id = connection.id;
    await synced.promise;
    return owner;
  }

  /**
   * Sends a request and waits for its answer, `timeoutMs` at most; a `bb_error` is thrown, and so is what cannot cross the
   * wire. The same id twice at once: one answer for both.
   */
  async request(sent: Event & { id: string }, signal?: AbortSignal, timeoutMs = ANSWER_MS): Promise<Event> {
    signal?.throwIfAborted();
    // A copy, as JSON has it: what crosses in-proc is frozen, and the caller's objects are the caller's.
    const event = accept(JSON.parse(JSON.stringify(sent)), wide);
    const { promise, resolve, reject } = Promise.withResolvers<Event>();
    const late = () =>
      reject(new BytebotError("timeout", `${event.event_type} was not answered within ${timeoutMs / 1000} s`));
    const timer = timeoutMs === Infinity ? undefined : setTimeout(late, timeoutMs);
    const waiting = { resolve, reject };
    this.waiting.set(sent.id, [...(this.waiting.get(sent.id) ?? []), waiting]);
    const abort = () => reject(new BytebotError("cancelled", `${event.event_type} was called off`));
    signal?.addEventListener("abort", abort, { once: true });
    try {
      this.link.send(event);
      return await promise;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
      const left = (this.waiting.get(sent.id) ?? []).filter((other) => other !== waiting);
      if (left.length > 0) this.waiting.set(sent.id, left);
      else this.waiting.delete(sent.id);
    }
  }

  /** Sends an event of an exchange that its `id` names, such as a blob's; all that answers it goes to `answer`. */
  relay(event: Event, id: string, answer: (event: Event) => void): void {
    this.relayed.set(id, answer);
    this.link.send(event);
  }

  /** The exchange is over. */
  endRelay(id: string): void {
    this.relayed.delete(id);
  }

  private receive(event: Event): void {
    this.relayed.get(event["in_reply_to"] as string)?.(event);
    const waiting = this.waiting.get(event["in_reply_to"] as string) ?? [];
    if (event.event_type !== "bb_error") for (const { resolve } of waiting) resolve(event);
    else {
      const error = BytebotError.fromWire(event as unknown as WireError);
      // A conflict is about the newest that used the id.
      for (const { reject } of error.code === "conflict" ? waiting.slice(-1) : waiting) reject(error);
    }
  }

  private end(error: BytebotError): void {
    for (const { reject } of [...this.waiting.values()].flat()) reject(error);
  }
}
