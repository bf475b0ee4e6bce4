import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";

/** The token of `Authorization: Bearer …`; nowhere else is one looked for. */
export function tokenOf(request: IncomingMessage): string | undefined {
  return /^Bearer +([\x21-\x7e]{1,512})$/i.exec(request.headers.authorization ?? "")?.[1];
}

/** What is kept of a token, and compared. */
export function digestOf(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}

/** Compares in constant time. */
export function sameToken(given: string | undefined, expected: string): boolean {
  return given !== undefined && timingSafeEqual(digestOf(given), digestOf(expected));
}
