import { createHash } from "node:crypto";
import { BytebotError, type BlobBlock, type Event } from "../wire/index.ts";
import { fits, linesOf } from "./size.ts";
import type { Entry, EventLog, NewEntry, Place } from "./log.ts";

/** What an entry holds itself, in bytes: an event above its share lies beside it, as a blob. */
const INLINE_BYTES = 64 * 1024;
const UNTYPED = "application/octet-stream";

/** Any event fits: a large one is kept as a blob of its cell, and comes back whole when read. */
export function withLargeEvents(log: EventLog): EventLog {
  let waited = 0;
  /** The order of commits holds on the way back: while somebody waits for a place, all wait, on the same way. */
  const wait = (append: () => Promise<Place>): Promise<Place> => {
    waited++;
    const placed = append();
    // Whoever waits has heard it when this turn of the event loop is over.
    const heard = () => setImmediate(() => waited--);
    placed.then(heard, heard);
    return placed;
  };
  const restore = async <E extends Entry>(cell: string, entry: E): Promise<E> => {
    if (!entry.events.some((event) => "stored" in event)) return entry;
    try {
      const lines = await Promise.all(
        entry.events.map(async (event, index) => lineOf(log, cell, event, entry.lines?.[index])),
      );
      // Each was checked when it came in, and may have grown larger than any line since: a transcript, say.
      return {
        ...entry,
        events: entry.events.map((event, index) => (event["stored"] ? (JSON.parse(lines[index]!) as Event) : event)),
        lines,
      };
    } catch (error) {
      await mustBeKept(cell, entry, error);
      throw error;
    }
  };
  /** Trimmed between the reading of an entry and of its blobs: `cursor_expired`, as if it had been gone before. */
  const mustBeKept = async (cell: string, { pos }: Entry, error: unknown): Promise<void> => {
    if (!(error instanceof BytebotError) || error.code !== "not_found") return;
    for await (const _ of log.read(cell, pos - 1)) return;
  };
  /** All but what was trimmed while it was read: its cell's base, which says so, comes later. */
  const kept = async function* (entries: AsyncIterable<Entry & { cell: string }>) {
    for await (const entry of entries) {
      const whole = await restore(entry.cell, entry).catch((error: unknown) => {
        if (error instanceof BytebotError && error.code === "cursor_expired") return undefined;
        throw error;
      });
      if (whole) yield whole;
    }
  };
  return {
    get end() {
      return log.end;
    },
    append: (cell, expected, entry) => {
      const lines = linesOf(entry);
      if (!fits(lines, INLINE_BYTES))
        return wait(async () =>
          withoutLarge(log, cell, { ...entry, lines }, (small) => log.append(cell, expected, small)),
        );
      const place = log.append(cell, expected, entry.lines ? entry : { ...entry, lines });
      return waited === 0 ? place : wait(async () => place);
    },
    async *read(cell, after) {
      for await (const entry of log.read(cell, after)) yield await restore(cell, entry);
    },
    readAll: (after, scopes) => kept(log.readAll(after, scopes)),
    async *readBack(cell, from) {
      for await (const entry of log.readBack(cell, from)) yield await restore(cell, entry);
    },
    tail: (cursors, signal) => kept(log.tail(cursors, signal)),
    head: async (cell) => {
      const entry = await log.head(cell);
      return entry && restore(cell, entry);
    },
    unfinished: () => log.unfinished(),
    cells: (scopes) => log.cells(scopes),
    spent: (tenant) => log.spent(tenant),
    trim: (cell, base) => log.trim(cell, base),
    putBlob: (cell, bytes) => log.putBlob(cell, bytes),
    getBlob: (cell, ref) => log.getBlob(cell, ref),
    close: () => log.close(),
  };
}

/** Appends the entry, its large events put beside it: asked for at once, so that an engine may commit all of it together. */
export function withoutLarge(
  log: Pick<EventLog, "putBlob">,
  cell: string,
  entry: NewEntry,
  append: (small: NewEntry) => Place | Promise<Place>,
): Place | Promise<Place> {
  const lines = linesOf(entry);
  if (fits(lines, INLINE_BYTES)) return append({ ...entry, lines });
  const room = INLINE_BYTES / lines.length;
  const refs: string[] = [];
  const events = entry.events.map((event, index): Event => {
    const line = lines[index]!;
    if (fits([line], room)) return event;
    const bytes = Buffer.from(line);
    const ref = `sha256-${createHash("sha256").update(bytes).digest("hex")}`;
    refs.push(ref);
    // Where it is not kept, the entry is refused.
    log.putBlob(cell, bytes).catch(() => undefined);
    return { event_type: event.event_type, stored: { type: "blob", ref, mime_type: UNTYPED, size: bytes.length } };
  });
  const { lines: _, ...rest } = entry;
  return append({ ...rest, events, refs });
}

async function lineOf(log: EventLog, cell: string, event: Event, line: string | undefined): Promise<string> {
  const stored = event["stored"] as BlobBlock | undefined;
  return stored ? Buffer.from(await log.getBlob(cell, stored.ref)).toString() : (line ?? JSON.stringify(event));
}
