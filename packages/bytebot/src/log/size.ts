import type { NewEntry } from "./log.ts";

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
