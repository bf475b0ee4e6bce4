import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { BytebotError } from "../../wire/index.ts";

const MOST = 512;

/** The token of `Authorization: Bearer …`; nowhere else is one looked for. */
export function tokenOf(request: IncomingMessage): string | undefined {
  return /^Bearer +([\x21-\x7e]{1,512})$/i.exec(request.headers.authorization ?? "")?.[1];
}

/**
 * Throws `invalid_params` where no `Authorization: Bearer …` carries this token, by the name it has for whoever chose it: it would
 * be taken here and refused there. Says where it is wrong, and not what it is.
 */
export function assertToken(token: string, name: string): void {
  const at = token.search(/[^\x21-\x7e]/);
  if (at === -1 && token.length <= MOST) return;
  const what = at === -1 ? `it is ${token.length} characters long` : `character ${at + 1} is ${characterAt(token, at)}`;
  throw new BytebotError(
    "invalid_params",
    `${name} is no token: ${what}; take 1 to ${MOST} printable ASCII characters without spaces, such as openssl rand -hex 32 prints`,
  );
}

function characterAt(text: string, at: number): string {
  const code = `U+${text.codePointAt(at)!.toString(16).toUpperCase().padStart(4, "0")}`;
  const names: Record<string, string> = {
    " ": "a space",
    "\t": "a tab",
    "\n": "the end of a line",
    "\r": "a carriage return",
  };
  return text[at]! in names ? `${names[text[at]!]} (${code})` : code;
}

/** The token that this environment variable holds; undefined: it is empty, or there is none. Throws like `assertToken`. */
export function tokenOfEnv(name: string): string | undefined {
  const token = process.env[name] ?? "";
  assertToken(token, name);
  return token === "" ? undefined : token;
}

/** What is kept of a token, and compared. */
export function digestOf(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}

/** Compares in constant time. */
export function sameToken(given: string | undefined, expected: string): boolean {
  return given !== undefined && timingSafeEqual(digestOf(given), digestOf(expected));
}
