import type { BlobBlock, Event } from "../wire/index.ts";
import type { Spent } from "./spent.ts";

/** Engine position: grows within a cell, gaps allowed, 0 = empty. */
export type Pos = number;

/** One atomic commit: at most 256 events and 256 KiB encoded. `id` makes an append safe to repeat. */
export interface NewEntry {
  id: string;
  events: readonly Event[];
  /** The same events as JSON, one each, where whoever gives the entry has them: what is measured and stored. */
  lines?: readonly string[];
  /** Blobs of the cell that are part of this entry: when it is trimmed, they go too. */
  refs?: readonly string[];
  /** A snapshot: what is below it may be trimmed. */
  base?: true;
  /** After it something of its cell is still under way: whoever starts anew on this log goes on there (see `unfinished`). */
  open?: true;
  /** All of its cell before it, entries and blobs, is gone with the same commit; it is a `base`. */
  wipe?: true;
  /** From it on this is what lists say of its cell. */
  about?: About;
  /** What its cell's tenant has used up with it, beside all before: counted once, in the same commit. */
  spent?: Spent;
}

/** What a list says of a cell. */
export interface About {
  title?: string;
  forked_from?: { scope: string; seq: number };
  /** All that was in it was deleted, and nothing has begun since. */
  deleted?: true;
}

/** A committed entry (without what its `wipe`, `about` and `spent` have done by then). `at`: milliseconds since 1970. `cursor`: `<log>:<order>`, the order rising with each commit. */
export interface Entry extends NewEntry {
  pos: Pos;
  cursor: string;
  at: number;
  /** What came before it in its cell was trimmed. */
  gap?: true;
}

/** An appended entry's place; on the wire `seq` = pos × 256 + the event's index, and its cursor ends in `.index`. */
export interface Place {
  pos: Pos;
  cursor: string;
}

/** One cell of a log. `head`: its newest position; `base`: of its oldest entry; `at`, `cursor`: of its newest, ms since 1970. */
export interface CellInfo {
  cell: string;
  head: Pos;
  base: Pos;
  entries: number;
  events: number;
  at: number;
  cursor: string;
  about?: About;
}

/**
 * The log of every cell: the Hub's state. One interface for every engine (the design is in spec/WIRE.md, "Log").
 * `append` refuses with `conflict` (data.head: the position now), `unavailable` (the outcome is unknown: repeat with the
 * same id) or `too_large`; the same id again answers the same place. Appends resolve in the order of their commits,
 * those of different cells too: a reader's last cursor is then a place before which it has seen everything. It
 * answers at once where nothing has to be waited for, and rejects, never throws. What is asked of a cell is done in the
 * order it was asked in: an entry may follow its blobs before these are answered.
 */
export interface EventLog {
  /** The newest entry's cursor, whichever its cell; `<log>:0` where there is none. */
  readonly end: string;
  append(cell: string, expected: Pos, entry: NewEntry): Place | Promise<Place>;
  /** One cell's entries so far. Throws `cursor_expired` (data.base: the oldest position that is kept) below what is kept. */
  read(cell: string, after: Pos): AsyncIterable<Entry>;
  /** All entries so far after this order, in that order, of the cells that these scopes reach (see `reaches`). */
  readAll(after: number, scopes: readonly string[]): AsyncIterable<Entry & { cell: string }>;
  /** The newest first, from the entry with this cursor on (default: the newest); `cursor_expired` where the cell has none such. */
  readBack(cell: string, from?: string): AsyncIterable<Entry>;
  /** Every cell, in the log's own order, without gaps, after these cursors; ends with `signal`. */
  tail(cursors: string[], signal: AbortSignal): AsyncIterable<Entry & { cell: string }>;
  head(cell: string): Promise<Entry | undefined>;
  /** The cells whose newest entry is `open`: where a Hub was cut off. As many as were at work, however many cells there are. */
  unfinished(): AsyncIterable<string>;
  /** What it has of each cell that these scopes reach, in the order of the cells' names. */
  cells(scopes: readonly string[]): AsyncIterable<CellInfo>;
  /** What a tenant has used up, by the `spent` of its entries. */
  spent(tenant: string): Promise<Spent | undefined>;
  trim(cell: string, base: Pos): Promise<void>;
  putBlob(cell: string, bytes: Uint8Array): Promise<BlobBlock>;
  getBlob(cell: string, ref: string): Promise<Uint8Array>;
  close(): Promise<void>;
}

export const MAX_ENTRY_BYTES = 256 * 1024;
export const MAX_ENTRY_EVENTS = 256;
