/** What a terminal or a log would obey instead of show: controls but newline and tab, other ends of lines, marks that reorder text. */
export const OBEYED = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/;
const ALL_OBEYED = new RegExp(OBEYED, "g");
/** Characters of one report. */
const MOST = 4000;

/** The text with what would be obeyed written out as `\u001b`, as JSON may write it: a line of JSON stays the same value. */
export function printable(text: string): string {
  return text.replaceAll(ALL_OBEYED, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/**
 * A line for whoever runs the app, whoever wrote a part of it: printable, bounded, and its further lines indented, so that
 * none of them looks like another report.
 */
export function toReport(text: string): string {
  const cut = text.length > MOST ? `${text.slice(0, MOST - 1)}…` : text;
  return printable(cut.toWellFormed().replaceAll(/\r?\n(?! {4})/g, "\n    "));
}
