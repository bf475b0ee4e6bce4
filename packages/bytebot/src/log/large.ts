import { decode, wide, type BlobBlock, type Event } from "../wire/index.ts";
import { fits, linesOf } from "./size.ts";
import type { Entry, EventLog } from "./log.ts";

/** What an entry holds itself, in bytes: an event above its share lies beside it, as a blob. */
const INLINE_BYTES = 64 * 1024;

/** Any event fits: a large one is kept as a blob of its cell, and comes back whole when read. */
export function withLargeEvents(log: EventLog): EventLog {
  const put = async (cell: string, event: Event, line: string, room: number): Promise<Event> => {
    if (fits([line], room)) return event;
    return { event_type: event.event_type, stored: await log.putBlob(cell, Buffer.from(line)) };
  };
  const restore = async <E extends Entry>(cell: string, entry: E): Promise<E> => {
    if (!entry.events.some((event) => "stored" in event)) return entry;
    const events = await Promise.all(entry.events.map((event) => get(log, cell, event)));
    return { ...entry, events };
  };
  return {
    append: (cell, expected, entry) => {
      const lines = linesOf(entry);
      if (fits(lines, INLINE_BYTES)) return log.append(cell, expected, { ...entry, lines });
      return Promise.all(
        entry.events.map((event, index) => put(cell, event, lines[index]!, INLINE_BYTES / lines.length)),
      ).then((events) => {
        const { lines: _, ...rest } = entry;
        return log.append(cell, expected, { ...rest, events });
      });
    },
    async *read(cell, after) {
      for await (const entry of log.read(cell, after)) yield await restore(cell, entry);
    },
    async *tail(cursors, signal) {
      for await (const entry of log.tail(cursors, signal)) yield await restore(entry.cell, entry);
    },
    head: async (cell) => {
      const entry = await log.head(cell);
      return entry && restore(cell, entry);
    },
    trim: (cell, base) => log.trim(cell, base),
    putBlob: (cell, bytes) => log.putBlob(cell, bytes),
    getBlob: (cell, ref) => log.getBlob(cell, ref),
    close: () => log.close(),
  };
}

async function get(log: EventLog, cell: string, event: Event): Promise<Event> {
  const stored = event["stored"] as BlobBlock | undefined;
  if (!stored) return event;
  return decode(await log.getBlob(cell, stored.ref), wide);
}
