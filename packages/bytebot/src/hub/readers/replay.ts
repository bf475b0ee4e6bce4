import { setImmediate as turnOfTheLoop } from "node:timers/promises";
import { cellOf, BytebotError, HIGH_WATER, type Event, type Sync } from "../../wire/index.ts";
import { MAX_ENTRY_EVENTS, orderOf, toMark, type Entry, type EventLog } from "../../log/index.ts";
import type { Outlet } from "./outlet.ts";
import { emptySnapshot } from "../cells/snapshot.ts";
import type { Resume, Synced } from "../state.ts";
import type { Turns } from "./turns.ts";

/** What one reader may be shown before others have their turn. */
const SLICE_MS = 5;

export interface Reading {
  log: EventLog;
  reader: Synced & { resume: Resume };
  outlet: Outlet;
  turns: Turns;
  /** Shows it one event of its scopes, as a reader of its kind sees it. */
  show: (event: Event) => void;
  /** The order up to which everybody else has been shown everything. */
  shown: () => number;
  /** It has seen all up to this order: called at that very moment. */
  caughtUp: (through: number) => void;
}

/** Where `resume` goes on in this log (rule RPL-3). Throws `cursor_expired` for what is no place in it, `invalid_params`. */
export function resumeAfter(log: EventLog, resume: NonNullable<Sync["resume"]>): Resume["after"] {
  if (resume === "start") return { order: 0, index: Infinity };
  const marks = resume.flatMap((cursor) => toMark(cursor) ?? []);
  const end = toMark(log.end)!;
  const [own, second] = marks.filter((mark) => mark.log === end.log);
  if (second) throw new BytebotError("invalid_params", "resume: two cursors of one log, and one is the last one seen");
  if (own && own.order <= end.order) return own;
  throw new BytebotError(
    "cursor_expired",
    'resume: none of these is a cursor of this log, which may have begun anew: sync with "start" for all there is, or without resume',
  );
}

/**
 * Shows a returning reader the durable events of its scopes after its cursor, in the order of their commits, until there
 * are no more that others have been shown (rule RPL-6). It goes as fast as the reader reads and holds one entry of it
 * at a time. Resolves when that is so, or the reader is gone. Rejects where the log cannot be read.
 */
export async function replay(reading: Reading): Promise<void> {
  await reading.turns.take();
  try {
    await readOn(reading);
  } finally {
    reading.turns.give();
  }
}

async function readOn({ log, reader, outlet, turns, show, shown, caughtUp }: Reading): Promise<void> {
  const { after: from } = reader.resume;
  let after = from.index === Infinity ? from.order : from.order - 1;
  let since = performance.now();
  /** Others have their turn, while this one is waited for or has had enough. */
  const pause = async (): Promise<void> => {
    const isBehind = outlet.link.buffered >= HIGH_WATER;
    if (!isBehind && performance.now() - since < SLICE_MS) return;
    turns.give();
    if (isBehind) await outlet.link.drained();
    await turns.take();
    since = performance.now();
  };
  for (;;) {
    const until = shown();
    for await (const entry of withTurns(log.readAll(after, reader.grant.scopes), turns)) {
      if (outlet.isClosed) return;
      after = orderOf(entry.cursor);
      const seen = after === from.order ? from.index : -1;
      for (const [index, event] of eventsOf(entry, reader)) {
        if (index > seen) show(stamped(event, entry, index));
        // Also within an entry: of large events it is more than a reader may leave unread, however fast it reads.
        await pause();
      }
    }
    if (outlet.isClosed) return;
    // All that was committed by then was read, whichever cell it is of.
    after = Math.max(after, until);
    if (shown() <= after) return caughtUp(after);
  }
}

/** The same; while the log keeps this one waiting, others have their turn. */
async function* withTurns<T>(all: AsyncIterable<T>, turns: Turns): AsyncGenerator<T> {
  const steps = all[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = steps.next();
      const first = await Promise.race([next, turnOfTheLoop()]);
      if (!first) {
        turns.give();
        await next.catch(() => undefined);
        await turns.take();
      }
      const step = await next;
      if (step.done === true) return;
      yield step.value;
    }
  } finally {
    await steps.return?.();
  }
}

/** A snapshot is for those who have missed what it stands for; of a granted scope that it does not name, that something is missing. */
function eventsOf(entry: Entry & { cell: string }, reader: Synced): [index: number, event: Event][] {
  const events = [...entry.events.entries()].filter(([, { event_type }]) => event_type !== "bb_state");
  // What was forked off begins with one.
  const isForEverybody = ({ event_type, forked_from }: Event): boolean =>
    event_type !== "bb_snapshot" || forked_from !== undefined;
  if (!entry.gap) return events.filter(([, event]) => isForEverybody(event));
  const told = new Set(events.map(([, event]) => event["scope"]));
  const untold = reader.grant.scopes.filter((scope) => cellOf(scope) === entry.cell && !told.has(scope));
  return [...events, ...untold.map((scope): [number, Event] => [0, emptySnapshot(scope)])];
}

/** As it was when it was committed: the log keeps an event without its place. */
export function stamped(event: Event, { pos, cursor }: Pick<Entry, "pos" | "cursor">, index: number): Event {
  return { ...event, seq: pos * MAX_ENTRY_EVENTS + index, cursor: `${cursor}.${index}` };
}
