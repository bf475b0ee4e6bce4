import { randomUUID } from "node:crypto";
import { BytebotError, type Event } from "../../wire/index.ts";
import {
  addSpent,
  fits,
  MAX_ENTRY_EVENTS,
  orderOf,
  type Entry,
  type EventLog,
  type NewEntry,
  type Place,
  type Pos,
} from "../../log/index.ts";
import type { Batch } from "../effects.ts";
import { Queue } from "../queue.ts";
import type { Retention } from "./retention.ts";
import type { Clock } from "../timers.ts";
import { joinsLast } from "./deltas.ts";

/** Well under an entry's limit, so that what is joined always fits. */
const JOIN_BYTES = 128 * 1024;
/** How long it is tried again, in milliseconds: whoever waits for its answer waits longer than that, and so hears why. */
const UNAVAILABLE_MS = 20_000;
/** Events and batches that are carried out in one turn of the event loop, about. */
const SLICE = 512;

interface Cell {
  name: string;
  /** Undefined until the log has said it. */
  pos: Pos | undefined;
  state: "idle" | "busy";
  waiting: Queue<Batch>;
  /** What was appended since the Hub knows of it. */
  grown: Grown;
  /** The entries that stand for all before them, and how far the cell had grown there; the newest last. */
  bases: Base[];
  /** Characters of the newest of them. */
  baseSize: number;
  /** It was asked for one, which is on its way. */
  wants: "base" | undefined;
}

/** In events and characters. */
interface Grown {
  events: number;
  size: number;
}

interface Base extends Grown {
  pos: Pos;
  /** What is below it is gone. */
  trimmed?: true;
}

/** An entry that stands for all before it comes after so many events or characters: as much is read to open a cell. */
const BASE_EVENTS = 500;
const BASE_SIZE = 1024 * 1024;
/** But not before the cell has grown by this part of what the last one took: else most of a log would be these. */
const BASE_PART = 0.25;

export interface CellsOptions {
  log: EventLog;
  clock: Clock;
  retention: (cell: string) => Retention;
  /** Its events are committed. */
  carryOut: (batch: Batch) => void;
  failed: (cell: string, batches: Batch[], error: BytebotError) => void;
  /** Its next entry shall stand for all before. */
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
  /** They go on in the next turns of the event loop. */
  readonly resting = new Queue<Cell>();
  private quiet: (() => void)[] = [];
  /** In this turn of the event loop. */
  private carried = 0;
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
    if (joinsLast(cell.waiting.last, batch)) return;
    cell.waiting.push(batch);
    if (cell.state === "idle") this.pump(cell);
    // Of which nothing is known, as what was live has passed: there is nothing to keep.
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

  /** Is it known where the cell's log stands, and so what has come of it? */
  isLoaded(name: string): boolean {
    return this.cells.get(name)?.pos !== undefined;
  }

  /** The cell's entries from the newest on that stands for all before it (rule REC-1). Rejects where the log cannot be read. */
  async read(name: string): Promise<Entry[]> {
    const entries: Entry[] = [];
    for await (const entry of this.log.readBack(name)) {
      entries.push(entry);
      if (entry.base) break;
    }
    return entries.reverse();
  }

  /** What was read of the cell is known from here on. */
  opened(name: string, entries: readonly Entry[]): void {
    // Something live may be on its way, which has no place in the log.
    const cell = this.cells.get(name) ?? fresh(name);
    this.cells.set(name, cell);
    cell.pos ??= entries.at(-1)?.pos ?? 0;
    for (const entry of entries) {
      const lines = entry.lines ?? entry.events.map((event) => JSON.stringify(event));
      if (!entry.base) grow(cell, lines);
      else {
        cell.bases = [{ pos: entry.pos, events: 0, size: 0 }];
        cell.baseSize = sizeOf(lines);
      }
    }
  }

  /** Nothing of it is in memory any more. */
  forget(name: string): void {
    const cell = this.cells.get(name);
    if (cell?.state === "idle" && cell.waiting.length === 0) this.cells.delete(name);
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
      if (this.carried >= SLICE) return this.rest(cell);
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

  /** Enough was carried out in this turn of the event loop: others have theirs, and then it goes on. */
  private rest(cell: Cell): void {
    cell.state = "busy";
    this.resting.push(cell);
  }

  private nextTurn(): void {
    this.carried = 0;
    for (let cell = this.resting.shift(); cell; cell = this.carried < SLICE ? this.resting.shift() : undefined) {
      cell.state = "idle";
      this.pump(cell);
    }
  }

  /** What carrying out leads to waits its turn: a cell's order holds whatever calls back. */
  private carry(cell: Cell, batches: Batch[]): void {
    cell.state = "busy";
    if (this.carried === 0) setImmediate(() => this.nextTurn());
    for (const batch of batches) {
      this.carried += 1 + batch.append.length;
      this.options.carryOut(batch);
    }
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
    const open = batches.findLast((batch) => batch.append.length > 0)?.open === true;
    const flags = { ...(base ? { base } : {}), ...(open ? { open } : {}), ...beside(batches) };
    const entry: NewEntry = { id: this.entryId(), events, lines, ...flags };
    if (base) cell.baseSize = sizeOf(lines);
    else grow(cell, lines);
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
    if (batches[0]!.wipe) wiped(cell, place.pos);
    else if (batches[0]!.base) this.trim(cell, place.pos);
    else this.measure(cell);
  }

  /** Is it time for an entry that stands for all before it? */
  private measure(cell: Cell): void {
    const { full } = this.options;
    const retention = this.options.retention(cell.name);
    const since = grownSince(cell, cell.bases.at(-1));
    if (cell.wants === "base" || since.size < cell.baseSize * BASE_PART) return;
    const most = { events: Math.min(BASE_EVENTS, retention.events), size: Math.min(BASE_SIZE, retention.bytes) };
    if (since.events < most.events && since.size < most.size) return;
    cell.wants = "base";
    full(cell.name);
  }

  /** Below the newest such entry that has as much after it as is to be kept, for readers that were away for a while. */
  private trim(cell: Cell, pos: Pos): void {
    const retention = this.options.retention(cell.name);
    cell.wants = undefined;
    cell.bases.push({ pos, ...cell.grown });
    const at = cell.bases.findLastIndex((base) => {
      const { events, size } = grownSince(cell, base);
      return events >= retention.events || size >= retention.bytes;
    });
    cell.bases.splice(0, Math.max(at, 0));
    const [base] = cell.bases;
    if (at === -1 || base!.trimmed) return;
    base!.trimmed = true;
    this.log.trim(cell.name, base!.pos).catch(this.options.fault);
  }

  private giveUp(cell: Cell, batches: Batch[], error: BytebotError): void {
    cell.state = "idle";
    const all = [...batches, ...cell.waiting.drain()];
    // What the log has is not what the Hub has come to: it is read anew when the cell is addressed again.
    cell.pos = undefined;
    this.options.failed(cell.name, all, error);
    this.pump(cell);
  }
}

/** What these batches keep beside their events. */
function beside(batches: readonly Batch[]): Pick<NewEntry, "wipe" | "about" | "spent"> {
  let kept: Pick<NewEntry, "wipe" | "about" | "spent"> = {};
  for (const { wipe, about, spent } of batches) {
    if (wipe) kept.wipe = true;
    if (about) kept = { ...kept, about };
    if (spent) kept = { ...kept, spent: addSpent(kept.spent, spent) };
  }
  return kept;
}

/** What it had is gone: it grows anew. */
function wiped(cell: Cell, pos: Pos): void {
  cell.wants = undefined;
  cell.grown = { events: 0, size: 0 };
  cell.bases = [{ pos, events: 0, size: 0, trimmed: true }];
}

function isTransient(error: unknown): boolean {
  return error instanceof BytebotError && error.code === "unavailable" && error.retryable;
}

function fresh(name: string): Cell {
  const grown = { events: 0, size: 0 };
  return { name, pos: undefined, state: "idle", waiting: new Queue(), grown, bases: [], baseSize: 0, wants: undefined };
}

function grow({ grown }: Cell, lines: readonly string[]): void {
  grown.events += lines.length;
  grown.size += sizeOf(lines);
}

function sizeOf(lines: readonly string[]): number {
  let size = 0;
  for (const line of lines) size += line.length;
  return size;
}

function grownSince({ grown }: Cell, base: Grown = { events: 0, size: 0 }): Grown {
  return { events: grown.events - base.events, size: grown.size - base.size };
}

interface Joined {
  batches: Batch[];
  lines: readonly string[];
}

/** The batches at the front that fit one entry, and their events as JSON; those without events ride along. */
function take(waiting: Queue<Batch>): Joined {
  const batches = [waiting.shift()!];
  let lines = encoded(batches[0]!);
  for (let next = waiting.first; next && batches.length < SLICE; next = waiting.first) {
    if (batches[0]!.base || next.base) break;
    if (next.append.length > 0) {
      const both = [...lines, ...encoded(next)];
      if (both.length > MAX_ENTRY_EVENTS || !fits(both, JOIN_BYTES)) break;
      lines = both;
    }
    batches.push(waiting.shift()!);
  }
  return { batches, lines };
}

function encoded(batch: Batch): readonly string[] {
  return (batch.lines ??= batch.append.map((event) => JSON.stringify(event)));
}
