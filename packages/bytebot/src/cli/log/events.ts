import { MAX_ENTRY_EVENTS, type Entry } from "../../log/index.ts";
import type { Event } from "../../wire/index.ts";

/** As it goes over the wire (rule LOG-2). */
export function stamped(event: Event, { pos, cursor }: Entry, index: number): Event {
  return { ...event, seq: pos * MAX_ENTRY_EVENTS + index, cursor: `${cursor}.${index}` };
}
