import { check, scan } from "./check.ts";
import { decodeDelta, encodeDelta } from "./delta.ts";
import { BytebotError } from "./errors.ts";
import type { Line } from "./framer.ts";
import { standard, type LineLimits } from "./limits.ts";
import { printable } from "./printable.ts";

/** Any event as it crosses the wire: `event_type` is all that is known of it (rule ENV-1). */
export interface Event {
  event_type: string;
  [field: string]: unknown;
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * One line to one event; text is a line whose length was checked. Throws BytebotError: `parse_error` (not UTF-8, not
 * JSON), `too_large` (over `limits`), `invalid_event` (not an object, no `event_type`, or a value the wire does not carry).
 */
export function decode(line: Line, limits: LineLimits = standard): Event {
  if (typeof line !== "string") {
    if (line.length > limits.line_bytes) {
      throw new BytebotError("too_large", `a line of ${line.length} bytes; the limit is ${limits.line_bytes}`);
    }
    line = text(line);
  }
  const delta = decodeDelta(line);
  if (delta) return delta;
  scan(line, limits);
  return parse(line, limits);
}

function text(line: Uint8Array): string {
  try {
    return utf8.decode(line);
  } catch (cause) {
    throw new BytebotError("parse_error", "the line is not UTF-8", { cause });
  }
}

function parse(line: string, limits: LineLimits): Event {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (cause) {
    const start = printable(JSON.stringify(line.slice(0, 40)));
    throw new BytebotError("parse_error", `the line is not JSON; it starts with ${start}`, { cause });
  }
  check(value, limits);
  return asEvent(value);
}

/** A value that crosses in-proc: checked like a line and frozen, never serialised (rule FRM-10). */
export function accept(value: unknown, limits: LineLimits = standard): Event {
  if (lastAccepted && value === lastAccepted && limits === lastLimits) return lastAccepted;
  check(value, limits, true);
  const event = asEvent(value);
  lastAccepted = event;
  lastLimits = limits;
  return event;
}

/** One event goes to many in a row: frozen, it is what it was, and is checked once. */
let lastAccepted: Event | undefined;
let lastLimits: LineLimits | undefined;

function asEvent(value: Record<string, unknown>): Event {
  if (typeof value["event_type"] !== "string" || value["event_type"] === "") {
    throw new BytebotError("invalid_event", `"event_type" is missing: every event says what it is`);
  }
  return value as Event;
}

const SEPARATORS = /[\u2028\u2029]/;
const EVERY_SEPARATOR = /[\u2028\u2029]/g;

/** One event to one line with its newline. U+2028 and U+2029 are escaped: many readers cut lines there (rule FRM-3). */
export function encode(event: Event): string {
  const delta = encodeDelta(event);
  if (delta !== undefined) return `${delta}\n`;
  return `${whole(JSON.stringify(event))}\n`;
}

/** What `encode` would say of an event with these fields more, of which there is the JSON without them; no key is in both. */
export function encodeWith(json: string, more: Record<string, unknown>): string {
  const added = whole(JSON.stringify(more));
  return added === "{}" ? `${whole(json)}\n` : `${whole(json).slice(0, -1)},${added.slice(1)}\n`;
}

function whole(json: string): string {
  return SEPARATORS.test(json) ? json.replace(EVERY_SEPARATOR, escaped) : json;
}

function escaped(separator: string): string {
  return separator === "\u2028" ? "\\u2028" : "\\u2029";
}
