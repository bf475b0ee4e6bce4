import { BytebotError } from "../wire/index.ts";
import { MAX_ENTRY_BYTES, MAX_ENTRY_EVENTS, type NewEntry } from "./log.ts";

/** The entry's events as JSON, one each. */
export function linesOf(entry: NewEntry): readonly string[] {
  return entry.lines ?? entry.events.map((event) => JSON.stringify(event));
}

/** Bytes of these lines as UTF-8; counted only where their characters leave a doubt. */
export function fits(lines: readonly string[], bytes: number): boolean {
  let units = 0;
  for (const line of lines) units += line.length;
  // A UTF-16 unit takes three bytes at most.
  if (units * 3 <= bytes) return true;
  return units <= bytes && lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0) <= bytes;
}

/** Throws `too_large` for what is more than an entry holds. */
export function checkSize(lines: readonly string[]): void {
  if (lines.length > MAX_ENTRY_EVENTS) {
    throw new BytebotError("too_large", `an entry holds ${MAX_ENTRY_EVENTS} events at most`);
  }
  if (!fits(lines, MAX_ENTRY_BYTES)) {
    throw new BytebotError("too_large", `an entry of more than ${MAX_ENTRY_BYTES} bytes: keep large parts as blobs`);
  }
}
