import { printable, type Event } from "../wire/index.ts";
import type { Found, Replayed } from "./replay.ts";

/** Characters of a line, and of a value, that are shown. */
const SHOWN = 300;
/** Of a text, before the character that differs. */
const BEFORE = 40;

/** What became of a cell, for people: nothing in it that moves a terminal's cursor. */
export function told({ cell, events, notes, found }: Replayed): string {
  const lines = notes.map((note) => `      ${shown(note)}`);
  if (!found) return [`same  ${shown(cell)}: ${events} events`, ...lines].join("\n");
  const { line, recorded, replayed, why } = found;
  const where = line === undefined ? "after the recording's end" : `at line ${line}`;
  const details = [
    ...differing(found),
    `recorded  ${recorded ? written(recorded) : "(nothing: the recording ends here)"}`,
    `replayed  ${replayed ? written(replayed) : "(nothing: the Hub waits)"}`,
    ...why.map((each) => `because   ${shown(each)}`),
  ];
  const first = `DIFF  ${shown(cell)}: ${where}, behind ${events} events that are the same`;
  return [first, ...lines, ...details.map((each) => `      ${each}`)].join("\n");
}

function differing({ difference }: Found): string[] {
  if (!difference) return [];
  const { path, recorded, replayed } = difference;
  const from = firstDifference(recorded, replayed);
  return [`field     ${shown(path)}`, `was       ${value(recorded, from)}`, `is        ${value(replayed, from)}`];
}

function firstDifference(a: unknown, b: unknown): number {
  if (typeof a !== "string" || typeof b !== "string") return 0;
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  return Math.max(0, at - BEFORE);
}

/** `from`: the character of a text where what is shown of it begins. */
function value(of: unknown, from: number): string {
  if (of === undefined) return "(not there)";
  const cut = typeof of === "string" && from > 0 ? `…${of.slice(from)}` : of;
  return shown(JSON.stringify(cut));
}

function written(event: Event): string {
  return shown(JSON.stringify(event));
}

/** For a terminal, cut where it is long. */
export function shown(text: string): string {
  return plain(text.length > SHOWN ? `${text.slice(0, SHOWN)}… (${text.length} characters)` : text);
}

/** One line, its control characters and those that turn the direction of text written out; JSON stays the same JSON. */
export function plain(text: string): string {
  return printable(text.toWellFormed()).replaceAll(/[\t\n]/g, (character) =>
    character === "\t" ? "\\u0009" : "\\u000a",
  );
}
