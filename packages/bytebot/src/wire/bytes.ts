import { BytebotError } from "./errors.ts";

/** What is decoded at a time, in characters: a multiple of four, and short enough to let others have their turn between. */
const STEP = 256 * 1024;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** Bytes of this base64 text, as its length tells. */
export function base64Bytes(data: string): number {
  const padding = data.endsWith("==") ? 2 : data.endsWith("=") ? 1 : 0;
  return Math.max(0, Math.floor((data.length / 4) * 3) - padding);
}

/** Base64 text as bytes, piece by piece. Throws `invalid_params` at the first piece that is none; nothing is guessed. */
export function* fromBase64(data: string): Generator<Uint8Array> {
  for (let at = 0; at < data.length; at += STEP) {
    const text = data.slice(at, at + STEP);
    const ends = at + STEP >= data.length;
    if (text.length % 4 !== 0 || !BASE64.test(text) || (!ends && text.endsWith("="))) {
      throw new BytebotError("invalid_params", `"data" is not base64: A-Z a-z 0-9 + / in fours, padded with =`);
    }
    yield Buffer.from(text, "base64");
  }
}

/** Text as UTF-8, piece by piece, no character cut. */
export function* fromText(text: string): Generator<Uint8Array> {
  for (let at = 0; at < text.length;) {
    const half = isHighSurrogate(text.charCodeAt(at + STEP - 1));
    const end = half ? at + STEP - 1 : at + STEP;
    yield Buffer.from(text.slice(at, end));
    at = end;
  }
}

/** The longest beginning of a text that has at most so many bytes as UTF-8 and ends with a whole character. */
export function beginning(text: string, bytes: number): string {
  const encoded = Buffer.from(text.slice(0, bytes));
  if (encoded.length <= bytes && text.length <= bytes) return text;
  let end = Math.min(bytes, encoded.length);
  // Also where the slice ended in half a pair, which was encoded as the three bytes of U+FFFD.
  while (end > 0 && (encoded[end]! & 0xc0) === 0x80) end--;
  return encoded.toString("utf8", 0, end);
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}
