/**
 * What a terminal or a page would obey, hide or be turned by instead of show: controls but newline and tab, other ends of lines,
 * and all that has no shape of its own. What joins letters and emoji is text, and so are the marks of a few scripts that Unicode
 * counts among those and that can be seen.
 */
const OBEYED =
  /(?![\u200c\u200d]|[\n\t\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u{110bd}\u{110cd}])[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu;
/** What cannot be seen, or not be told from a space, or that a font may not have, whatever it is good for. */
const UNSEEN = /(?![\n\t ])[\p{C}\p{Z}\p{DI}\u2800]/gu;
/** Characters of one report. */
const MOST = 4000;

/**
 * Text of others, safe to write to a terminal: what would be obeyed appears as `\u001b`, as JSON may write it, so that a line of JSON
 * stays the same value.
 */
export function printable(text: string): string {
  return text.replaceAll(OBEYED, escaped);
}

/** What somebody is to decide about, such as a call's arguments: two that differ do so to the eye, but for letters that look alike. */
export function printableExactly(text: string): string {
  return text.replaceAll(UNSEEN, escaped);
}

/** Each of its UTF-16 units, as JSON has them. */
function escaped(character: string): string {
  return Array.from(
    { length: character.length },
    (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`,
  ).join("");
}

/**
 * A line for whoever runs the app, whoever wrote a part of it: printable, bounded, and its further lines indented, so that
 * none of them looks like another report.
 */
export function toReport(text: string): string {
  const cut = text.length > MOST ? `${text.slice(0, MOST - 1)}…` : text;
  return printable(cut.toWellFormed().replaceAll(/\r?\n(?! {4})/g, "\n    "));
}
