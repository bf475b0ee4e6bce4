import { AsyncLocalStorage } from "node:async_hooks";
import type { Link, Receiver } from "../transport/index.ts";
import { ackNameOf, as, beforeSync, BytebotError, toReport, wide } from "../wire/index.ts";
import type { Event, LineLimits, SyncAck, WireError } from "../wire/index.ts";
import { newId, outgoing } from "./outgoing.ts";
import { cancelled, Requests, type RequestOptions } from "./requests.ts";
import { Transfers } from "./transfers.ts";

const SYNC_MS = 10_000;
const MAX_HELD = 10_000;

/** The satellite's side of a connection: opening → synced → delivering → closed. */
export class Connection implements Receiver {
  /** Resolves with the reason once the connection is closed. */
  readonly ended: Promise<string>;
  /** What a line may hold that is sent; in force from the acknowledgement on. */
  limits: LineLimits & { blob_bytes?: number | undefined } = beforeSync;
  readonly blobs: Transfers = new Transfers(this);
  private readonly link: Link;
  private readonly acks: boolean;
  private readonly requests = new Requests();
  private readonly gone = new AbortController();
  private readonly settleEnded: (reason: string) => void;
  /** Events arrive in the context of whoever sent them; handlers run in the one that called `sync`. */
  readonly inContext = AsyncLocalStorage.snapshot();
  private handshake: PromiseWithResolvers<SyncAck> | undefined;
  private held: Event[] = [];
  private deliver: ((event: Event) => void) | undefined;
  private reason: string | undefined;
  private closing: Promise<void> | undefined;

  /** `acks`: says of each event that has a name that it came (rule HTP-10). */
  constructor(connect: (receiver: Receiver) => Link, acks = false) {
    this.acks = acks;
    const ended = Promise.withResolvers<string>();
    this.ended = ended.promise;
    this.settleEnded = ended.resolve;
    this.link = connect(this);
  }

  /** Aborts when the connection closes, with BytebotError `unavailable`. */
  get signal(): AbortSignal {
    return this.gone.signal;
  }

  /** Sends `bb_sync`, waits for the answer: rejects with the Hub's error, `timeout` or `cancelled`, the connection closed. */
  async sync(event: object, signal: AbortSignal): Promise<SyncAck> {
    const handshake = Promise.withResolvers<SyncAck>();
    const late = `the Hub did not answer bb_sync within ${SYNC_MS / 1000} s (a Hub starts its satellites: run by hand, one has nobody to talk to)`;
    const timer = setTimeout(() => handshake.reject(new BytebotError("timeout", late)), SYNC_MS);
    const abort = () => handshake.reject(cancelled(signal));
    signal.addEventListener("abort", abort, { once: true });
    try {
      if (signal.aborted) throw cancelled(signal);
      if (this.signal.aborted) throw this.signal.reason;
      this.send(event);
      this.handshake = handshake;
      return await handshake.promise;
    } catch (error) {
      await this.close(BytebotError.from(error).message);
      throw error;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
      this.handshake = undefined;
    }
  }

  /** Hands over what was held, in order, then everything that comes; `deliver` runs its handlers in `inContext`. */
  start(deliver: (event: Event) => void): void {
    this.deliver = deliver;
    const held = this.held;
    this.held = [];
    for (const event of held) deliver(event);
  }

  /** Throws BytebotError where the event cannot cross the wire; on a closed connection it goes nowhere. */
  send(event: object): void {
    this.link.send(outgoing(event, this.limits));
  }

  post(event: Event): void {
    this.link.send(event);
  }

  /** Sends the event, under a fresh id where it has none, and waits for what answers it. */
  async request(event: Event, options?: RequestOptions): Promise<Event> {
    if (this.signal.aborted) throw this.signal.reason;
    const id = typeof event["id"] === "string" ? event["id"] : newId("r");
    const ready = outgoing({ ...event, id }, this.limits);
    const answer = this.requests.wait(event.event_type, id, options);
    this.link.send(ready);
    return answer;
  }

  drained(): Promise<void> {
    return this.link.drained();
  }

  close(reason: string): Promise<void> {
    if (!this.closing && !this.signal.aborted) this.link.send({ event_type: "bb_bye", reason });
    return this.finish(reason);
  }

  event(event: Event): void {
    if (this.acks) this.acknowledge(event);
    // Copies for an observer: nothing in them is meant for this side.
    if (event["observed"] !== true && this.takes(event)) return;
    if (this.deliver) this.deliver(event);
    else if (this.held.push(event) > MAX_HELD) {
      this.held = [];
      void this.close(`overloaded: ${MAX_HELD} events came before start()`);
    }
  }

  fault(error: BytebotError): void {
    if (this.handshake) return this.handshake.reject(error);
    console.error(toReport(`bytebot: an event from the Hub was refused: ${error.message}`));
    this.post({ event_type: "bb_error", ...error.toWire() });
  }

  closed(reason: string): void {
    const why = this.reason ?? reason;
    const error = new BytebotError("unavailable", `the connection closed: ${why}`);
    this.handshake?.reject(error);
    this.requests.close(error);
    this.blobs.close(error);
    this.gone.abort(error);
    this.settleEnded(why);
  }

  private acknowledge(event: Event): void {
    const name = ackNameOf(event);
    if (name !== undefined) this.post({ event_type: "bb_ack", in_reply_to: name });
  }

  /** Is this the connection's own affair, of which no handler hears? */
  private takes(event: Event): boolean {
    switch (event.event_type) {
      case "bb_sync_ack":
        this.accept(as("bb_sync_ack", event));
        return true;
      case "bb_ping":
        this.post({ event_type: "bb_pong", ...(typeof event["id"] === "string" ? { in_reply_to: event["id"] } : {}) });
        return true;
      case "bb_bye":
        void this.finish(typeof event["reason"] === "string" ? event["reason"] : "the Hub said goodbye");
        return true;
      case "bb_error":
        if (!this.handshake) return this.blobs.settle(event) || this.requests.settle(event);
        this.handshake.reject(BytebotError.fromWire(event as unknown as WireError));
        return true;
      case "bb_blob":
        return this.blobs.settle(event);
      default:
        this.requests.settle(event);
        return false;
    }
  }

  private accept(ack: SyncAck): void {
    if (!this.handshake) return;
    this.limits = ack.limits;
    // The Hub may show this side what another was granted to say; the next line may already be in the buffer.
    const { line_bytes, values, depth } = ack.limits;
    this.link.limit({
      line_bytes: Math.max(line_bytes, wide.line_bytes),
      values: Math.max(values, wide.values),
      depth: Math.max(depth, wide.depth),
    });
    this.handshake.resolve(ack);
    this.handshake = undefined;
  }

  private finish(reason: string): Promise<void> {
    this.reason ??= reason;
    this.closing ??= this.link.close(this.reason);
    return this.closing;
  }
}
