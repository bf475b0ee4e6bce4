import { randomUUID } from "node:crypto";
import { BytebotError, type Event } from "../../wire/index.ts";
import {
  fits,
  MAX_ENTRY_EVENTS,
  orderOf,
  type EventLog,
  type NewEntry,
  type Place,
  type Pos,
} from "../../log/index.ts";
import type { Batch } from "../effects.ts";
import { Queue } from "../turn/queue.ts";
import type { Clock } from "../timers.ts";

/** Well under an entry's limit, so that what is joined always fits. */
const JOIN_BYTES = 128 * 1024;
const UNAVAILABLE_MS = 30_000;

interface Cell {
  name: string;
  /** Undefined until the log has said it. */
  pos: Pos | undefined;
  state: "idle" | "busy";
  waiting: Queue<Batch>;
  /** Since it last was full: what was appended, in events and characters. */
  events: number;
  size: number;
  /** The newest entry that stands for all before it. */
  base: Pos | undefined;
}

/** How much a cell's log keeps: at least so many events or bytes of the newest, and about twice as many at most. */
export interface Retention {
  events: number;
  bytes: number;
}

export const defaultRetention: Retention = { events: 5000, bytes: 8 * 1024 * 1024 };

export interface CellsOptions {
  log: EventLog;
  clock: Clock;
  retention: Retention;
  /** Its events are committed. */
  carryOut: (batch: Batch) => void;
  failed: (cell: string, batches: Batch[], error: BytebotError) => void;
  /** It holds as much as it may: its next entry shall stand for all before. */
  full: (cell: string) => void;
  /** Trimming failed, which only costs room. */
  fault: (error: unknown) => void;
}

/**
 * Keeps each cell's batches in order and behind their log: one append in flight per cell; what gathers meanwhile shares
 * the next entry; a batch is carried out only when its events are committed and stamped (rules LOG-1 to LOG-3).
 */
export class Cells {
  private readonly cells = new Map<string, Cell>();
  private readonly options: CellsOptions;
  private readonly log: EventLog;
  private newest: string;
  private quiet: (() => void)[] = [];
  /** Unique for ever: random for this run, and counted within it. */
  private readonly run = randomUUID();
  private entries = 0;

  constructor(options: CellsOptions) {
    this.options = options;
    this.log = options.log;
    this.newest = options.log.end;
  }

  /** The cursor of the newest entry that was carried out: all that is older was shown. */
  get end(): string {
    return this.newest;
  }

  add(batch: Batch): void {
    const { cell: name } = batch;
    if (name === undefined) return this.options.carryOut(batch);
    const known = this.cells.get(name);
    const cell = known ?? fresh(name);
    if (!known) this.cells.set(name, cell);
    cell.waiting.push(batch);
    if (cell.state === "idle") this.pump(cell);
    // In which nothing was ever logged: there is nothing to know of it.
    if (cell.state === "idle" && cell.pos === undefined) this.cells.delete(name);
  }

  /** Does nothing of this cell wait for the log? Then what has no event to append may be carried out at once. */
  isQuiet(name: string): boolean {
    const cell = this.cells.get(name);
    return cell === undefined || (cell.state === "idle" && cell.waiting.length === 0);
  }

  get size(): number {
    return this.cells.size;
  }

  /** Resolves with true when nothing waits for the log; with false where the log has not answered in `ms`. */
  async settled(ms: number): Promise<boolean> {
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, ms);
    const until = performance.now() + ms;
    while ([...this.cells.values()].some((cell) => cell.state === "busy") && performance.now() < until) {
      await Promise.race([late.promise, new Promise<void>((resolve) => this.quiet.push(resolve))]);
    }
    clearTimeout(timer);
    return ![...this.cells.values()].some((cell) => cell.state === "busy");
  }

  private pump(cell: Cell): void {
    while (cell.state === "idle" && cell.waiting.length > 0) {
      if (cell.waiting.first!.append.length === 0) {
        this.carry(cell, [cell.waiting.shift()!]);
        continue;
      }
      if (cell.pos === undefined) this.locate(cell);
      else this.append(cell, cell.pos, take(cell.waiting));
    }
    if (this.quiet.length === 0) return;
    const quiet = this.quiet;
    this.quiet = [];
    for (const resolve of quiet) resolve();
  }

  /** What carrying out leads to waits its turn: a cell's order holds whatever calls back. */
  private carry(cell: Cell, batches: Batch[]): void {
    cell.state = "busy";
    for (const batch of batches) this.options.carryOut(batch);
    cell.state = "idle";
  }

  private entryId(): string {
    return `${this.run}.${++this.entries}`;
  }

  /** Where the cell's log stands, before the first append. */
  private locate(cell: Cell): void {
    cell.state = "busy";
    this.log.head(cell.name).then(
      (entry) => {
        cell.pos = entry?.pos ?? 0;
        cell.state = "idle";
        this.pump(cell);
      },
      (error: unknown) => this.giveUp(cell, [], BytebotError.from(error)),
    );
  }

  private append(cell: Cell, pos: Pos, { batches, lines }: Joined): void {
    const events = batches.length === 1 ? batches[0]!.append : batches.flatMap((batch) => batch.append);
    const base = batches[0]!.base === true;
    const entry: NewEntry = { id: this.entryId(), events, lines, ...(base ? { base } : {}) };
    cell.events += events.length;
    for (const line of lines) cell.size += line.length;
    cell.state = "busy";
    const place = this.log.append(cell.name, pos, entry);
    // A log that has it at once costs no turn of the event loop.
    if (!(place instanceof Promise)) return this.committed(cell, batches, events, place);
    const committed = (late: Place): void => {
      this.committed(cell, batches, events, late);
      this.pump(cell);
    };
    const refused = (error: unknown): void => this.giveUp(cell, batches, BytebotError.from(error));
    place.then(committed, (error: unknown) => {
      this.again(cell, pos, entry, error).then(committed, refused);
    });
  }

  /** The outcome of an `unavailable` append is unknown: the same id again finds out (rule LOG-4). */
  private async again(cell: Cell, pos: Pos, entry: NewEntry, first: unknown): Promise<Place> {
    const until = this.options.clock.now() + UNAVAILABLE_MS;
    let error = first;
    for (let wait = 50; this.options.clock.now() < until && isTransient(error); wait = Math.min(wait * 2, 2000)) {
      await new Promise<void>((resolve) => void this.options.clock.after(wait, resolve));
      try {
        return await this.log.append(cell.name, pos, entry);
      } catch (another) {
        error = another;
      }
    }
    throw error;
  }

  private committed(cell: Cell, batches: Batch[], events: Event[], place: Place): void {
    cell.pos = place.pos;
    for (let index = 0; index < events.length; index++) {
      events[index]!["seq"] = place.pos * MAX_ENTRY_EVENTS + index;
      events[index]!["cursor"] = `${place.cursor}.${index}`;
    }
    if (orderOf(place.cursor) > orderOf(this.newest)) this.newest = place.cursor;
    this.carry(cell, batches);
    if (batches[0]!.base) this.trim(cell, place.pos);
    else this.measure(cell);
  }

  private measure(cell: Cell): void {
    const { retention, full } = this.options;
    if (cell.events < retention.events && cell.size < retention.bytes) return;
    cell.events = cell.size = 0;
    full(cell.name);
  }

  /** Below the snapshot before this one, so that a reader that was away for a while still finds all that it missed. */
  private trim(cell: Cell, pos: Pos): void {
    const { base } = cell;
    cell.base = pos;
    if (base !== undefined) this.log.trim(cell.name, base).catch(this.options.fault);
  }

  private giveUp(cell: Cell, batches: Batch[], error: BytebotError): void {
    cell.state = "idle";
    const all = [...batches, ...cell.waiting.drain()];
    const head = (error.data as { head?: number } | undefined)?.head;
    if (head !== undefined) cell.pos = head;
    this.options.failed(cell.name, all, error);
    this.pump(cell);
  }
}

function isTransient(error: unknown): boolean {
  return error instanceof BytebotError && error.code === "unavailable" && error.retryable;
}

function fresh(name: string): Cell {
  return { name, pos: undefined, state: "idle", waiting: new Queue(), events: 0, size: 0, base: undefined };
}

interface Joined {
  batches: Batch[];
  lines: readonly string[];
}

/** The batches at the front that fit one entry, and their events as JSON; those without events ride along. */
function take(waiting: Queue<Batch>): Joined {
  const batches = [waiting.shift()!];
  let lines = encoded(batches[0]!);
  for (let next = waiting.first; next; next = waiting.first) {
    if (batches[0]!.base || next.base) break;
    const more = encoded(next);
    const both = [...lines, ...more];
    if (both.length > MAX_ENTRY_EVENTS || !fits(both, JOIN_BYTES)) break;
    lines = both;
    batches.push(waiting.shift()!);
  }
  return { batches, lines };
}

function encoded(batch: Batch): readonly string[] {
  return (batch.lines ??= batch.append.map((event) => JSON.stringify(event)));
}
