import type { BlobBlock, Event } from "../wire/index.ts";

/** Engine position: grows within a cell, gaps allowed, 0 = empty. */
export type Pos = number;

/** One atomic commit: at most 256 events and 256 KiB encoded. `id` makes an append safe to repeat. */
export interface NewEntry {
  id: string;
  events: readonly Event[];
  /** The same events as JSON, one each, where the caller has them: what an engine measures and stores. */
  lines?: readonly string[];
  /** A snapshot: what is below it may be trimmed. */
  base?: true;
}

/** A committed entry. `at`: milliseconds since 1970. */
export interface Entry extends NewEntry {
  pos: Pos;
  cursor: string;
  at: number;
}

/** An appended entry's place; on the wire `seq` = pos × 256 + the event's index, and its cursor ends in `.index`. */
export interface Place {
  pos: Pos;
  cursor: string;
}

/**
 * The log of every cell: the Hub's state. One interface for every engine (the design is in spec/WIRE.md, "Log").
 * `append` refuses with `conflict` (data.head: the position now), `unavailable` (the outcome is unknown: repeat with the
 * same id) or `too_large`; the same id again answers the same place.
 */
export interface EventLog {
  append(cell: string, expected: Pos, entry: NewEntry): Promise<Place>;
  read(cell: string, after: Pos): AsyncIterable<Entry>;
  /** Every cell, in the log's own order, without gaps, after these cursors; ends with `signal`. */
  tail(cursors: string[], signal: AbortSignal): AsyncIterable<Entry & { cell: string }>;
  head(cell: string): Promise<Entry | undefined>;
  trim(cell: string, base: Pos): Promise<void>;
  putBlob(cell: string, bytes: Uint8Array): Promise<BlobBlock>;
  getBlob(cell: string, ref: string): Promise<Uint8Array>;
  close(): Promise<void>;
}

export const MAX_ENTRY_BYTES = 256 * 1024;
export const MAX_ENTRY_EVENTS = 256;
