import { BytebotError, type BlobBlock, type Event } from "../wire/index.ts";
import { fits, linesOf } from "./size.ts";
import type { Entry, EventLog, NewEntry, Place } from "./log.ts";

/** What an entry holds itself, in bytes: an event above its share lies beside it, as a blob. */
const INLINE_BYTES = 64 * 1024;

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
      const events = await Promise.all(entry.events.map((event) => get(log, cell, event)));
      return { ...entry, events };
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
        return wait(async () => log.append(cell, expected, await withoutLarge(log, cell, entry)));
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
    trim: (cell, base) => log.trim(cell, base),
    putBlob: (cell, bytes) => log.putBlob(cell, bytes),
    getBlob: (cell, ref) => log.getBlob(cell, ref),
    close: () => log.close(),
  };
}

/** The entry with its large events put beside it. */
export async function withoutLarge(log: EventLog, cell: string, entry: NewEntry): Promise<NewEntry> {
  const lines = linesOf(entry);
  if (fits(lines, INLINE_BYTES)) return { ...entry, lines };
  const room = INLINE_BYTES / lines.length;
  const refs: string[] = [];
  const events: Event[] = [];
  for (const [index, event] of entry.events.entries()) {
    const line = lines[index]!;
    const stored = fits([line], room) ? undefined : await log.putBlob(cell, Buffer.from(line));
    if (stored) refs.push(stored.ref);
    events.push(stored ? { event_type: event.event_type, stored } : event);
  }
  const { lines: _, ...rest } = entry;
  return { ...rest, events, refs };
}

async function get(log: EventLog, cell: string, event: Event): Promise<Event> {
  const stored = event["stored"] as BlobBlock | undefined;
  if (!stored) return event;
  // It was checked when it came in, and may have grown larger than any line since: a transcript, say.
  return JSON.parse(Buffer.from(await log.getBlob(cell, stored.ref)).toString()) as Event;
}
