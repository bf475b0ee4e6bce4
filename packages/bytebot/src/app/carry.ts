import { BytebotError, type Event } from "../wire/index.ts";
import type { Owner } from "./owner.ts";

/**
 * Blobs of whoever is behind the app's own connection: what it sends goes on to the Hub, which answers as it answers
 * anybody (rules BLB-2 to BLB-6), and the answers go back at the pace at which they are taken.
 */
export function carry(owner: Owner, answer: (event: Event) => void, pace: () => Promise<void>): (event: Event) => void {
  owner.pace = pace;
  const open = new Set<string>();
  const end = (id: string): void => {
    if (open.delete(id)) owner.endRelay(id);
  };
  return (event) => {
    const givenUp = event.event_type === "bb_error";
    const id = event[givenUp ? "in_reply_to" : "id"];
    if (typeof id !== "string") throw new BytebotError("invalid_event", `${event.event_type} does not name its blob`);
    const begins = !givenUp && (event["part"] === 0 || event["data"] === undefined);
    // What comes of an upload that was refused is not wanted.
    if (!begins && !open.has(id)) return;
    open.add(id);
    owner.relay(event, id, (told) => {
      // Parts are followed by more; anything else is the last word.
      if (told.event_type !== "bb_blob" || told["last"] !== false) end(id);
      answer(told);
    });
    if (givenUp) end(id);
  };
}
