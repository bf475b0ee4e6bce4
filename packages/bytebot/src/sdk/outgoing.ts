import { randomUUID } from "node:crypto";
import { BytebotError, check, encode, type Event, type LineLimits } from "../wire/index.ts";

/** A random id; the prefix is for people who read the wire. */
export function newId(prefix: string): string {
  return `${prefix}_${randomUUID().replaceAll("-", "")}`;
}

/** Bytes of the event as a line, without its newline. */
export function lineBytes(event: Event): number {
  return Buffer.byteLength(encode(event)) - 1;
}

/**
 * The event as every transport carries it: what JSON leaves out (undefined, functions) is left out, the rest copied, as
 * in-proc freezes what it is given. Throws BytebotError `invalid_event` or `too_large`: the Hub could not name the
 * request it belongs to.
 */
export function outgoing(event: object, limits: LineLimits): Event {
  const size: Size = { units: 0, limits };
  const copy = plain(event, 1, size);
  check(copy, limits);
  // A UTF-16 unit takes at most six bytes, as an escape: most events need no exact count.
  if (size.units * 6 > limits.line_bytes) {
    const bytes = lineBytes(copy as Event);
    if (bytes > limits.line_bytes) {
      throw new BytebotError("too_large", `this event has ${bytes} bytes; the limit here is ${limits.line_bytes}`);
    }
  }
  return copy as Event;
}

interface Size {
  units: number;
  limits: LineLimits;
}

function plain(value: unknown, depth: number, size: Size): unknown {
  if (typeof value === "string") size.units += value.length + 2;
  else size.units += 4;
  if (typeof value !== "object" || value === null) return value;
  // Also where a circle ends.
  if (depth > size.limits.depth) {
    throw new BytebotError("too_large", `nested deeper than ${size.limits.depth}: flatten it`);
  }
  if (Array.isArray(value)) return value.map((item) => (left(item) ? null : plain(item, depth + 1, size)));
  if ("toJSON" in value && typeof value.toJSON === "function") return plain(value.toJSON(), depth + 1, size);
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    const item = (value as Record<string, unknown>)[key];
    if (left(item)) continue;
    if (key === "__proto__") throw new BytebotError("invalid_event", `the key "__proto__" is not allowed`);
    size.units += key.length + 4;
    copy[key] = plain(item, depth + 1, size);
  }
  return copy;
}

/** What JSON leaves out. */
function left(value: unknown): boolean {
  return value === undefined || typeof value === "function" || typeof value === "symbol";
}
