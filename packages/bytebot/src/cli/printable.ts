import * as wire from "../wire/index.ts";

/** Text of others on one line of a terminal. */
export function printable(text: string): string {
  return wire.printable(text.replaceAll("\n", "⏎").replaceAll("\t", " "));
}

/** The same value as JSON.stringify writes, safe to look at on a terminal. */
export function printableJson(value: unknown): string {
  return wire.printable(JSON.stringify(value));
}

/** At most so many characters, and a sign that there was more. */
export function shortened(text: string, length: number): string {
  const characters = Array.from(text.slice(0, length * 2));
  return characters.length <= length && text.length <= length * 2
    ? text
    : `${characters.slice(0, length - 1).join("")}…`;
}
