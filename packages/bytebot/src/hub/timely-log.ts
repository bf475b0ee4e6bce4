import type { EventLog } from "../log/index.ts";
import { inTime } from "./in-time.ts";
import type { Clock } from "./timers.ts";

/**
 * The log, of which nothing is waited for without an end: what is read rejects with `unavailable` where the next of it is
 * not there in 30 s. Appends and blobs have deadlines of their own (rules LOG-4 and LOG-7).
 */
export function timely(log: EventLog, clock: Clock): EventLog {
  const steps = <T>(all: AsyncIterable<T>): AsyncIterable<T> => stepsInTime(all, clock);
  return {
    get end() {
      return log.end;
    },
    append: (cell, expected, entry) => log.append(cell, expected, entry),
    read: (cell, after) => steps(log.read(cell, after)),
    readAll: (after, scopes) => steps(log.readAll(after, scopes)),
    readBack: (cell, from) => steps(log.readBack(cell, from)),
    tail: (cursors, signal) => log.tail(cursors, signal),
    head: (cell) => inTime(clock, log.head(cell), "the log"),
    unfinished: () => steps(log.unfinished()),
    cells: (scopes) => steps(log.cells(scopes)),
    spent: (tenant) => inTime(clock, log.spent(tenant), "the log"),
    trim: (cell, base) => log.trim(cell, base),
    putBlob: (cell, bytes) => log.putBlob(cell, bytes),
    getBlob: (cell, ref) => inTime(clock, log.getBlob(cell, ref), "the log"),
    close: () => log.close(),
  };
}

async function* stepsInTime<T>(all: AsyncIterable<T>, clock: Clock): AsyncGenerator<T> {
  const steps = all[Symbol.asyncIterator]();
  try {
    for (;;) {
      const step = await inTime(clock, steps.next(), "the log");
      if (step.done === true) return;
      yield step.value;
    }
  } finally {
    // One that hangs does not hear it until it goes on, and nobody waits for that.
    steps.return?.().catch(() => undefined);
  }
}
