import type { EventLog } from "../../log/index.ts";
import { BytebotError, cellOf, type Event, type HistoryRequest } from "../../wire/index.ts";
import { present } from "./present.ts";
import { stamped } from "./replay.ts";

const DEFAULT_LIMIT = 100;
/** Characters of a page, but for one event that is larger alone. */
const MAX_PAGE = 1024 * 1024;

export interface Page {
  events: Event[];
  more: boolean;
}

/**
 * One page of a conversation, oldest first: the newest `limit` shown events before the cursor `before` (rule RPL-5). Reads
 * backwards from there, and lets others go first now and then: `pause`.
 */
export async function page(log: EventLog, request: HistoryRequest, pause: () => Promise<void>): Promise<Page> {
  const { scope, before, limit = DEFAULT_LIMIT } = request;
  const from = before?.slice(0, before.lastIndexOf("."));
  let found = from === undefined;
  const events: Event[] = [];
  let size = 0;
  for await (const entry of log.readBack(cellOf(scope), from)) {
    for (const [index, logged] of [...entry.events.entries()].reverse()) {
      const cursor = `${entry.cursor}.${index}`;
      if (logged["scope"] !== scope) continue;
      const shown = found ? present(logged) : undefined;
      found ||= cursor === before;
      if (!shown) continue;
      size += JSON.stringify(shown).length;
      if (events.length >= limit || (size > MAX_PAGE && events.length > 0))
        return { events: events.reverse(), more: true };
      events.push(stamped(shown, entry, index));
    }
    // The cursor names one of the first entry's events, or none.
    if (!found) throw expired(before);
    await pause();
  }
  if (!found) throw expired(before);
  return { events: events.reverse(), more: false };
}

function expired(before: string | undefined): BytebotError {
  return new BytebotError("cursor_expired", `no event of this conversation has the cursor "${before}"`);
}
