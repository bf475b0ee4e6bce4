import { setImmediate as turnOfTheLoop } from "node:timers/promises";
import { BytebotError, type Event } from "../../wire/index.ts";
import type { ConnectionId } from "../effects.ts";

/** Pages that one connection may have waiting. */
const MAX_WAITING = 32;
/** Connections that are read for at once. */
const MAX_RUNNING = 2;
/** What reading may take of the event loop before everybody else has their turn, in milliseconds. */
const SLICE_MS = 4;
const RETRY_MS = 1000;

/** Lets others have their turn, where this reading had its share. */
export type Pause = () => Promise<void>;

/** Something that takes reading much of the log. One of the two is called, once; `fail` where `run` rejects, too. */
export interface Job {
  run: (pause: Pause) => Promise<void>;
  fail: (error: unknown) => void;
}

/**
 * Reads pages of history, lists and what is to be forked: one at a time for each connection, in its order, the connections in a circle, a few
 * milliseconds at once, so that nobody notices who reads much (rule RPL-5).
 */
export class Pages {
  private readonly waiting = new Map<ConnectionId, Job[]>();
  private readonly running = new Set<ConnectionId>();

  ask(connection: ConnectionId, job: Job): void {
    const own = this.waiting.get(connection) ?? [];
    if (own.length >= MAX_WAITING) {
      const options = { retryable: true, retryAfterMs: RETRY_MS };
      return job.fail(new BytebotError("overloaded", `${MAX_WAITING} pages of this connection wait`, options));
    }
    this.waiting.set(connection, [...own, job]);
    if (this.running.size < MAX_RUNNING) void this.read(connection);
  }

  /** The connection is gone: what it asked for is of no use. */
  forget(connection: ConnectionId): void {
    this.waiting.delete(connection);
  }

  /** Waiting or being read for. */
  get size(): number {
    return this.waiting.size + this.running.size;
  }

  /** The log did not answer in its time (rule LOG-7): nobody waits for that once more for each that was before him. */
  private refuseAll(error: unknown): void {
    const waiting = [...this.waiting.values()].flat();
    this.waiting.clear();
    for (const { fail } of waiting) fail(error);
  }

  private async read(connection: ConnectionId): Promise<void> {
    const [next, ...rest] = this.waiting.get(connection) ?? [];
    if (!next || this.running.has(connection)) return;
    this.running.add(connection);
    this.waiting.delete(connection);
    if (rest.length > 0) this.waiting.set(connection, rest);
    let since = performance.now();
    const pause: Pause = async () => {
      if (performance.now() - since < SLICE_MS) return;
      await turnOfTheLoop();
      since = performance.now();
    };
    try {
      await next.run(pause);
    } catch (error) {
      next.fail(error);
      if (BytebotError.from(error).code === "unavailable") this.refuseAll(error);
    }
    await turnOfTheLoop();
    this.running.delete(connection);
    const other = [...this.waiting.keys()].find((id) => !this.running.has(id));
    if (other !== undefined) void this.read(other);
  }
}

/** The answer to a request of this sort: what was found, or why not. */
export function resultOf({ event_type, id, scope }: Event, found: object | { error: unknown }): Event {
  const type = `${event_type.replace(/_request$/, "")}_result`;
  const result = { event_type: type, in_reply_to: id, ...(scope === undefined ? {} : { scope }) };
  if ("error" in found) return { ...result, success: false, error: BytebotError.from(found.error).toWire() };
  return { ...result, success: true, ...found };
}
