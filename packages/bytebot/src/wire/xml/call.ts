import { scan } from "../check.ts";
import { wide } from "../limits.ts";

/** Reads one call, from behind the tag that begins it. */
export interface CallReader {
  /** Takes a piece; once the call is whole, with its closing tag, answers what follows it. Throws `Malformed`. */
  read(piece: string): string | undefined;
}

/** Where a reader says what it found. */
export interface CallSink {
  /** The tool's name: once, before any arguments. */
  name(name: string): void;
  /** The next piece of the arguments as JSON text. All of them together are a JSON object if the call turns out whole. */
  arguments(json: string): void;
}

/** Why what was written is no call: in words for the model. */
export class Malformed extends Error {
  override readonly name = "Malformed";
}

/** The names that models see (rule TOL-3). */
const NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** The longest that may be written where a tool's name is expected, with what stands around it. */
export const MAX_NAME = 80;

export function toolName(text: string): string {
  if (NAME.test(text)) return text;
  throw new Malformed("the function's name cannot be read: write one of the names you were given");
}

/** Content deeper than this is in no transcript (rule FRM-6). */
const MAX_DEPTH = 48;

/** JSON of a size and depth that may be parsed. Throws `Malformed`, saying that `what` is not. */
export function parseJson(text: string, what: string): unknown {
  try {
    scan(text, { ...wide, depth: MAX_DEPTH });
    return JSON.parse(text);
  } catch {
    throw new Malformed(`${what} is not JSON, or deeper or larger than allowed`);
  }
}

const WHITE = new Set([0x20, 0x09, 0x0a, 0x0d]);

function isWhite(code: number): boolean {
  return WHITE.has(code);
}

/** Where the text that is no white space begins, from `at` on. */
export function skipWhite(text: string, at = 0): number {
  while (at < text.length && isWhite(text.charCodeAt(at))) at++;
  return at;
}

/** Where the white space at the end begins. */
export function whiteTail(text: string): number {
  let end = text.length;
  while (end > 0 && isWhite(text.charCodeAt(end - 1))) end--;
  return end;
}
