import type { EventLog } from "../log/index.ts";
import { BytebotError, cellOf, type Event, type HistoryRequest } from "../wire/index.ts";
import { MAX_ENTRY_EVENTS } from "../log/index.ts";
import { present } from "./present.ts";

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
  for await (const entry of log.read(cellOf(request.scope), 0)) {
    for (const [index, logged] of entry.events.entries()) {
      const cursor = `${entry.cursor}.${index}`;
      if (cursor === request.before) return { events, more };
      const shown = present(logged);
      if (!shown || shown["scope"] !== request.scope) continue;
      events.push({ ...shown, seq: entry.pos * MAX_ENTRY_EVENTS + index, cursor });
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
