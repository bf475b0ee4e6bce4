import type { BytebotError, Event, LineLimits } from "../wire/index.ts";

/** What a transport tells the side that uses it. Nothing is called after `closed`, and `closed` is called once. */
export interface Receiver {
  /** A checked event (not yet validated against its schema). */
  event(event: Event): void;
  /** Resolves when what it was given so far is accepted or refused; undefined: it is, as where this is left out. */
  settled?(): Promise<void> | undefined;
  /** A line that was no event: too long, not JSON, not allowed. The link goes on. */
  fault(error: BytebotError): void;
  /** The link has ended: why. */
  closed(reason: string): void;
}

/**
 * One side of a connection, whatever carries it: the same events in the same order (rule CON-1).
 * `send` never throws and never waits: it queues, and what one read led to leaves in one write.
 */
export interface Link {
  /** For people: what is at the other end. */
  readonly name: string;
  /** `line`: the event as `encode` writes it, where that is cheaper to come by. */
  send(event: Event, line?: () => string): void;
  /** Bytes queued and not yet taken by the other end; 0 where nothing is ever queued. */
  readonly buffered: number;
  /** Resolves when `buffered` is below HIGH_WATER, or the link has closed. */
  drained(): Promise<void>;
  /** The limits granted to the other end, once it has synced. */
  limit(limits: LineLimits): void;
  /** Sends what is queued, ends the link and all that was opened for it; resolves when nothing of it is left. */
  close(reason: string): Promise<void>;
}

/** Opens a link. Rejects with BytebotError `unavailable` where the other end cannot be reached; aborts with `signal`. */
export type Connect = (receiver: Receiver, signal: AbortSignal) => Promise<Link>;
