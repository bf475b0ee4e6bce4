import { setImmediate as turnOfTheLoop } from "node:timers/promises";
import type { EventLog } from "../../log/index.ts";
import { BytebotError, type Event, type HistoryRequest } from "../../wire/index.ts";
import type { ConnectionId } from "../effects.ts";
import { page, type Page } from "./page.ts";

/** Pages that one connection may have waiting. */
const MAX_WAITING = 32;
/** Connections that are read for at once. */
const MAX_RUNNING = 2;
/** What reading may take of the event loop before everybody else has their turn, in milliseconds. */
const SLICE_MS = 4;
const RETRY_MS = 1000;

/** Takes the `bb_history_result`. */
export type Done = (result: Event) => void;

interface Waiting {
  request: HistoryRequest;
  done: Done;
}

/**
 * Reads pages of history: one at a time for each connection, in its order, the connections in a circle, a few
 * milliseconds at once, so that nobody notices who reads much (rule RPL-5).
 */
export class Pages {
  private readonly log: EventLog;
  private readonly waiting = new Map<ConnectionId, Waiting[]>();
  private readonly running = new Set<ConnectionId>();

  constructor(log: EventLog) {
    this.log = log;
  }

  ask(connection: ConnectionId, request: HistoryRequest, done: Done): void {
    const own = this.waiting.get(connection) ?? [];
    if (own.length >= MAX_WAITING) {
      const options = { retryable: true, retryAfterMs: RETRY_MS };
      return done(
        refused(request, new BytebotError("overloaded", `${MAX_WAITING} pages of this connection wait`, options)),
      );
    }
    this.waiting.set(connection, [...own, { request, done }]);
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
    for (const { request, done } of waiting) done(refused(request, error));
  }

  private async read(connection: ConnectionId): Promise<void> {
    const [next, ...rest] = this.waiting.get(connection) ?? [];
    if (!next || this.running.has(connection)) return;
    this.running.add(connection);
    this.waiting.delete(connection);
    if (rest.length > 0) this.waiting.set(connection, rest);
    let since = performance.now();
    const pause = async (): Promise<void> => {
      if (performance.now() - since < SLICE_MS) return;
      await turnOfTheLoop();
      since = performance.now();
    };
    const { request, done } = next;
    let failed: unknown;
    const found = await page(this.log, request, pause).catch((error: unknown) => void (failed = error));
    done(found ? answered(request, found) : refused(request, failed));
    if (!found && BytebotError.from(failed).code === "unavailable") this.refuseAll(failed);
    await turnOfTheLoop();
    this.running.delete(connection);
    const other = [...this.waiting.keys()].find((id) => !this.running.has(id));
    if (other !== undefined) void this.read(other);
  }
}

function result({ id, scope }: HistoryRequest): Event {
  return { event_type: "bb_history_result", in_reply_to: id, scope };
}

function answered(request: HistoryRequest, found: Page): Event {
  return { ...result(request), success: true, ...found };
}

function refused(request: HistoryRequest, error: unknown): Event {
  return { ...result(request), success: false, error: BytebotError.from(error).toWire() };
}
