import type { Entry, EventLog } from "../log/index.ts";
import { BytebotError, cellOf, type Event, type HistoryRequest } from "../wire/index.ts";
import { present } from "./present.ts";
import { stamped } from "./replay.ts";

const DEFAULT_LIMIT = 100;
/** Characters of a page, but for one event that is larger alone. */
const MAX_PAGE = 4 * 1024 * 1024;

/** One page of a conversation, oldest first: the newest `limit` shown events before the cursor `before` (rule RPL-5). */
export async function page(log: EventLog, request: HistoryRequest): Promise<{ events: Event[]; more: boolean }> {
  const limit = request.limit ?? DEFAULT_LIMIT;
  const events: Event[] = [];
  const sizes: number[] = [];
  let bytes = 0;
  let more = false;
  for await (const entry of kept(log, cellOf(request.scope))) {
    for (const [index, logged] of entry.events.entries()) {
      const cursor = `${entry.cursor}.${index}`;
      if (cursor === request.before) return { events, more };
      const shown = present(logged);
      if (!shown || shown["scope"] !== request.scope) continue;
      events.push(stamped(shown, entry, index));
      sizes.push(JSON.stringify(shown).length);
      bytes += sizes.at(-1)!;
      while (events.length > limit || (bytes > MAX_PAGE && events.length > 1)) {
        events.shift();
        bytes -= sizes.shift()!;
        more = true;
      }
    }
  }
  if (request.before !== undefined)
    throw new BytebotError("cursor_expired", `no event of this conversation has the cursor "${request.before}"`);
  return { events, more };
}

/** All of a cell that its log still has. */
async function* kept(log: EventLog, cell: string): AsyncIterable<Entry> {
  try {
    yield* log.read(cell, 0);
  } catch (error) {
    const base = (BytebotError.from(error).data as { base?: number } | undefined)?.base;
    if (base === undefined) throw error;
    yield* log.read(cell, base - 1);
  }
}
