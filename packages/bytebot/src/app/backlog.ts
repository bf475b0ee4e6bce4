import { isStampedDelta, mergeDeltas, type Event } from "../wire/index.ts";

/** What may wait for a reader that does not read. */
export const MAX_WAITING = 10_000;
/** With more than that a reader is behind. */
const BEHIND = 1000;
/** What deltas may add to others that wait, in characters. */
const MAX_JOINED = 32 * 1024 * 1024;

interface Slot {
  event: Event;
  /** Characters that were joined to it. */
  joined: number;
}

/**
 * Events that wait for a reader, in their order. Where it is behind, a delta joins the one before it in its block (rule
 * CHK-7): how fast a model streams pushes nothing else out.
 */
export class Backlog {
  private readonly slots: Slot[] = [];
  /** The last that waits of each scope. */
  private readonly last = new Map<string, Slot>();
  private joined = 0;

  /** False: no more than that may wait. */
  push(event: Event): boolean {
    const scope = event["scope"];
    if (typeof scope === "string") {
      const last = this.last.get(scope);
      if (last && this.slots.length > BEHIND && this.join(last, event)) return true;
    }
    if (this.slots.length >= MAX_WAITING) return false;
    const slot = { event, joined: 0 };
    this.slots.push(slot);
    if (typeof scope === "string") this.last.set(scope, slot);
    return true;
  }

  shift(): Event | undefined {
    const slot = this.slots.shift();
    if (!slot) return undefined;
    this.joined -= slot.joined;
    const scope = slot.event["scope"] as string;
    if (this.last.get(scope) === slot) this.last.delete(scope);
    return slot.event;
  }

  clear(): void {
    this.slots.length = 0;
    this.last.clear();
    this.joined = 0;
  }

  private join(last: Slot, event: Event): boolean {
    if (last.event["kind"] !== "block_delta" || !isStampedDelta(event)) return false;
    const size = event.delta.length;
    const merged = this.joined + size > MAX_JOINED ? undefined : mergeDeltas(last.event as typeof event, event);
    if (!merged) return false;
    last.event = merged;
    last.joined += size;
    this.joined += size;
    return true;
  }
}
