import { BytebotError, decode, encode, printable, wide, type Event } from "../wire/index.ts";
import { ruleBrokenBy } from "./broken.ts";

/** A line for people: cut, its control characters written out. */
export interface Line {
  from: "hub" | "satellite" | "stderr";
  line: string;
}

/** What came from the component as one line: an event, or why it is none. */
export interface Received {
  event?: Event;
  fault?: BytebotError;
  /** The rule a line breaks that is no event. */
  breaks?: string;
  /** Its beginning. */
  text: string;
  bytes: number;
  /** U+2028 or U+2029, raw. */
  separator: boolean;
  /** An escape of half a surrogate pair. */
  half: boolean;
  /** The stream ended without its 0x0A. */
  unended: boolean;
}

const SHOWN_CHARS = 300;
/** Of a line: more than is shown, as what is cut is cut at a character. */
const KEPT_BYTES = 4 * SHOWN_CHARS;
/** In a report: so many of the wire, and so many that it printed. */
const SHOWN_LINES = 8;
const SHOWN_PRINTS = 4;
const MOST_KEPT = 1000;
/** What one connection may bring in: a component that never stops talking is a finding, not a reason to run out of memory. */
const MOST_LINES = 50_000;
const MOST_BYTES = 96 * 1024 * 1024;

/** All that crossed one connection, both ways. */
export class Trace {
  readonly received: Received[] = [];
  /** Set where it brought more than is kept. */
  overflow = false;
  private lines: Line[] = [];
  private bytes = 0;

  sent(event: Event): void {
    this.note("hub", JSON.stringify(event));
  }

  sentBytes(bytes: Uint8Array): void {
    this.note("hub", Buffer.from(bytes.subarray(0, KEPT_BYTES)).toString(), bytes.length);
  }

  stderr(line: string): void {
    this.note("stderr", line);
  }

  /** An event of a transport without lines. */
  hear(event: Event): Received {
    const line = encode(event);
    return this.keep({
      event,
      text: line.slice(0, KEPT_BYTES),
      bytes: line.length,
      separator: false,
      half: false,
      unended: false,
    });
  }

  hearFault(fault: BytebotError): Received {
    const breaks = rules[fault.code] ?? "FRM-7";
    return this.keep({ fault, breaks, text: "", bytes: 0, separator: false, half: false, unended: false });
  }

  hearLine(bytes: Uint8Array, unended: boolean): Received {
    const text = Buffer.from(bytes.subarray(0, KEPT_BYTES)).toString();
    const separator = SEPARATORS.some((raw) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).includes(raw));
    const about = { text, bytes: bytes.length, separator, half: hasHalf(bytes), unended };
    try {
      return this.keep({ event: decode(bytes, wide), ...about });
    } catch (error) {
      const fault = BytebotError.from(error);
      return this.keep({ fault, breaks: ruleBrokenBy(bytes, fault), ...about });
    }
  }

  /** The newest lines, for the report. */
  last(): Line[] {
    const prints = this.lines.filter(({ from }) => from === "stderr").slice(-SHOWN_PRINTS);
    const wire = this.lines.filter(({ from }) => from !== "stderr").slice(-SHOWN_LINES);
    return this.lines.filter((line) => prints.includes(line) || wire.includes(line));
  }

  private keep(received: Received): Received {
    this.bytes += received.bytes;
    if (this.received.length >= MOST_LINES || this.bytes > MOST_BYTES) this.overflow = true;
    else this.received.push(received);
    const { fault, text, bytes } = received;
    this.note("satellite", fault && text === "" ? `(${fault.message})` : text, bytes);
    return received;
  }

  private note(from: Line["from"], text: string, size?: number): void {
    this.lines.push({ from, line: shown(text, size) });
    if (this.lines.length > MOST_KEPT) this.lines = this.last();
  }
}

/** The two escapes of a surrogate pair stand together; a backslash that is escaped begins none. */
function hasHalf(bytes: Uint8Array): boolean {
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  if (!all.includes("\\ud") && !all.includes("\\uD")) return false;
  return HALF.test(all.toString("latin1").replaceAll("\\\\", ""));
}

const HALF = /\\ud[89ab][0-9a-f]{2}(?!\\ud[c-f][0-9a-f]{2})|(?<!\\ud[89ab][0-9a-f]{2})\\ud[c-f][0-9a-f]{2}/i;

/** Where a transport says no more than the code of what it refused. */
const rules: Partial<Record<string, string>> = { too_large: "FRM-5", parse_error: "FRM-1" };

const SEPARATORS = ["\u2028", "\u2029"].map((character) => Buffer.from(character));

/** For a terminal: one line, nothing in it that moves the cursor, cut where it is long. */
export function shown(text: string, size = text.length): string {
  const cut = text.length > SHOWN_CHARS || size > KEPT_BYTES ? `${text.slice(0, SHOWN_CHARS)}… (${size} in all)` : text;
  return printable(cut.toWellFormed()).replaceAll(/[\t\n]/g, (character) =>
    character === "\t" ? "\\u0009" : "\\u000a",
  );
}
