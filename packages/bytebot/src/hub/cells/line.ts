import { encodeWith, type Event } from "../../wire/index.ts";
import type { Batch, Plus } from "../effects.ts";

/** How the line of an event that was logged in this batch is made of what was logged; undefined for any other event. */
export function lineIn({ append, lines }: Batch, event: Event, plus?: Plus): (() => string) | undefined {
  const json = lines?.[append.indexOf(event)];
  if (json === undefined) return undefined;
  // No key twice.
  for (const key in plus) if (key in event) return undefined;
  return () => encodeWith(json, { seq: event["seq"], cursor: event["cursor"], ...plus });
}
