/** What moves a terminal's cursor, hides text or turns its direction: all that has no shape of its own, but for what joins emoji. */
const UNSAFE = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu;

/** Text of others on one line of a terminal: what could act on the screen is written as its number. */
export function printable(text: string): string {
  return text.replaceAll(UNSAFE, (char) =>
    char === "\n" ? "⏎" : char === "\t" ? " " : `\\u{${char.codePointAt(0)!.toString(16)}}`,
  );
}

/** The same value as JSON.stringify writes, safe to look at on a terminal. */
export function printableJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(UNSAFE, (char) =>
    Array.from({ length: char.length }, (_, at) => `\\u${char.charCodeAt(at).toString(16).padStart(4, "0")}`).join(""),
  );
}

/** At most so many characters, and a sign that there was more. */
export function shortened(text: string, length: number): string {
  const characters = Array.from(text.slice(0, length * 2));
  return characters.length <= length && text.length <= length * 2
    ? text
    : `${characters.slice(0, length - 1).join("")}…`;
}
