import { setImmediate as turnOfTheLoop } from "node:timers/promises";

/** What a reader takes of the event loop before others have their turn, in milliseconds. */
const SLICE_MS = 5;
const STEPS = 16;

/** Resolves at once, or after a turn of the event loop where this reader had its share. */
export function pace(): () => Promise<void> | undefined {
  let since = performance.now();
  let steps = 0;
  return () => {
    if (++steps % STEPS !== 0 || performance.now() - since < SLICE_MS) return undefined;
    return turnOfTheLoop().then(() => void (since = performance.now()));
  };
}
