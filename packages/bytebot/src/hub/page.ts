import type { EventLog } from "../log/index.ts";
import { BytebotError, cellOf, type Event, type HistoryRequest } from "../wire/index.ts";
import { MAX_ENTRY_EVENTS } from "../log/index.ts";
import { present } from "./present.ts";

const DEFAULT_LIMIT = 100;

/** One page of a conversation, oldest first: the newest `limit` shown events before the cursor `before` (rule RPL-5). */
export async function page(log: EventLog, request: HistoryRequest): Promise<{ events: Event[]; more: boolean }> {
  const limit = request.limit ?? DEFAULT_LIMIT;
  const events: Event[] = [];
  let more = false;
  for await (const entry of log.read(cellOf(request.scope), 0)) {
    for (const [index, logged] of entry.events.entries()) {
      const cursor = `${entry.cursor}.${index}`;
      if (cursor === request.before) return { events, more };
      const shown = present(logged);
      if (!shown || shown["scope"] !== request.scope) continue;
      events.push({ ...shown, seq: entry.pos * MAX_ENTRY_EVENTS + index, cursor });
      if (events.length > limit) {
        events.shift();
        more = true;
      }
    }
  }
  if (request.before !== undefined)
    throw new BytebotError("cursor_expired", `no event of this conversation has the cursor "${request.before}"`);
  return { events, more };
}
