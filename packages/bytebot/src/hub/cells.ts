import { randomUUID } from "node:crypto";
import { BytebotError, type Event } from "../wire/index.ts";
import { MAX_ENTRY_EVENTS, type EventLog, type Pos } from "../log/index.ts";
import type { Batch } from "./effects.ts";

/** Well under an entry's limit, so that what is joined always fits. */
const JOIN_BYTES = 128 * 1024;
const UNAVAILABLE_MS = 30_000;

interface Cell {
  name: string;
  pos: Pos;
  state: "idle" | "appending";
  waiting: Batch[];
}

/**
 * Keeps each cell's batches in order and behind their log: one append in flight per cell; what gathers meanwhile shares
 * the next entry; a batch is carried out only when its events are committed and stamped (rules LOG-1 to LOG-3).
 */
export class Cells {
  private readonly cells = new Map<string, Cell>();
  private readonly log: EventLog;
  private readonly carryOut: (batch: Batch) => void;
  private readonly failed: (cell: string, batches: Batch[], error: BytebotError) => void;
  private quiet: (() => void)[] = [];

  constructor(log: EventLog, carryOut: Cells["carryOut"], failed: Cells["failed"]) {
    this.log = log;
    this.carryOut = carryOut;
    this.failed = failed;
  }

  add(batch: Batch): void {
    if (batch.cell === undefined) return this.carryOut(batch);
    let cell = this.cells.get(batch.cell);
    if (!cell) {
      cell = { name: batch.cell, pos: 0, state: "idle", waiting: [] };
      this.cells.set(batch.cell, cell);
    }
    cell.waiting.push(batch);
    if (cell.state === "idle") this.pump(cell);
  }

  /** Resolves when nothing waits for the log. */
  async settled(): Promise<void> {
    while ([...this.cells.values()].some((cell) => cell.state === "appending")) {
      await new Promise<void>((resolve) => this.quiet.push(resolve));
    }
  }

  private pump(cell: Cell): void {
    while (cell.state === "idle" && cell.waiting.length > 0) {
      const first = cell.waiting[0]!;
      if (first.append.length === 0) {
        cell.waiting.shift();
        this.carryOut(first);
        continue;
      }
      const batches = take(cell.waiting);
      cell.state = "appending";
      this.append(cell, batches).then(
        () => this.done(cell, batches),
        (error: unknown) => this.giveUp(cell, batches, BytebotError.from(error)),
      );
    }
    const quiet = this.quiet;
    this.quiet = [];
    for (const resolve of quiet) resolve();
  }

  private async append(cell: Cell, batches: Batch[]): Promise<void> {
    const events = batches.flatMap((batch) => batch.append);
    const place = await this.commit(cell, { id: randomUUID(), events });
    cell.pos = place.pos;
    for (const [index, event] of events.entries()) {
      event["seq"] = place.pos * MAX_ENTRY_EVENTS + index;
      event["cursor"] = `${place.cursor}.${index}`;
    }
  }

  /** The outcome of an `unavailable` append is unknown: the same id again finds out (rule LOG-4). */
  private async commit(cell: Cell, entry: { id: string; events: Event[] }): ReturnType<EventLog["append"]> {
    const until = performance.now() + UNAVAILABLE_MS;
    for (let wait = 50; ; wait = Math.min(wait * 2, 2000)) {
      try {
        return await this.log.append(cell.name, cell.pos, entry);
      } catch (error) {
        if (
          !(error instanceof BytebotError) ||
          error.code !== "unavailable" ||
          !error.retryable ||
          performance.now() > until
        )
          throw error;
        await new Promise((resolve) => setTimeout(resolve, wait));
      }
    }
  }

  private done(cell: Cell, batches: Batch[]): void {
    cell.state = "idle";
    for (const batch of batches) this.carryOut(batch);
    this.pump(cell);
  }

  private giveUp(cell: Cell, batches: Batch[], error: BytebotError): void {
    cell.state = "idle";
    const all = [...batches, ...cell.waiting.splice(0)];
    const head = (error.data as { head?: number } | undefined)?.head;
    if (head !== undefined) cell.pos = head;
    this.failed(cell.name, all, error);
    this.pump(cell);
  }
}

/** The batches at the front that fit one entry; those without events ride along. */
function take(waiting: Batch[]): Batch[] {
  const batches: Batch[] = [];
  let events = 0;
  let bytes = 0;
  while (waiting.length > 0) {
    const next = waiting[0]!;
    const size = next.append.reduce((sum, event) => sum + JSON.stringify(event).length * 2, 0);
    if (batches.length > 0 && (events + next.append.length > MAX_ENTRY_EVENTS || bytes + size > JOIN_BYTES)) break;
    batches.push(waiting.shift()!);
    events += next.append.length;
    bytes += size;
  }
  return batches;
}
