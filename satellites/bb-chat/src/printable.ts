import * as bb from "bytebot/sdk";

/** Text from a model, a tool or the wire, safe to write to a terminal. CRLF counts as the newline it means. */
export function printable(text: string): string {
  return bb.printable(text.replaceAll("\r\n", "\n"));
}

/** Printable text for the screen, where a tab has no width that could be counted on. */
export function shown(text: string): string {
  return printable(text).replaceAll("\t", "    ");
}

/** Printable text shortened to one line of at most `most` characters (no fewer than eight). */
export function oneLine(text: string, most: number): string {
  const width = Math.max(8, most);
  // Cut before the work: a tool may return megabytes. Escapes only make the text longer.
  const start = text.length <= width * 4 ? text : text.slice(0, boundary(text.slice(0, width * 8), width * 4));
  const line = printable(start.replace(/\s+/g, " ").trim());
  const characters = [...graphemes.segment(line)].map(({ segment }) => segment);
  if (start === text && characters.length <= width) return line;
  return `${characters.slice(0, width - 1).join("")}…`;
}

/** Splits a text into what a person sees as characters. */
export const graphemes = new Intl.Segmenter();

/** The start of the character that holds this index; the text's end where there is none. */
export function boundary(text: string, index: number): number {
  return graphemes.segment(text).containing(index)?.index ?? text.length;
}
