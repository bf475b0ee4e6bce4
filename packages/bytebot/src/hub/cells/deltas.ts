import { isStampedDelta, mergeDeltas, type Event, type StampedDelta } from "../../wire/index.ts";
import type { Batch } from "../effects.ts";

/** Those made here: what others write into an event says nothing of it. */
const joined = new WeakSet<Event>();

/**
 * A live delta that has to wait for the log joins the one that waits before it, where it goes on in its block: however
 * long the log takes, what gathers is as much as its text (rule CHK-7). False: it waits by itself.
 */
export function joinsLast(last: Batch | undefined, next: Batch): boolean {
  const before = last && onlyDelta(last);
  const delta = before && onlyDelta(next);
  const merged = delta && mergeDeltas(before, delta);
  if (!merged) return false;
  joined.add(merged);
  last!.effects[0] = { type: "publish", event: merged };
  return true;
}

function onlyDelta({ append, effects }: Batch): StampedDelta | undefined {
  const [effect] = effects;
  if (append.length > 0 || effects.length !== 1 || effect?.type !== "publish") return undefined;
  return isDelta(effect.event) ? effect.event : undefined;
}

function isDelta(event: Event): event is StampedDelta {
  return joined.has(event) || isStampedDelta(event);
}
