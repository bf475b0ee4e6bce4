const NEWLINE = 0x0a;
const RETURN = 0x0d;
const BLANK = /^[ \t]*$/;

/** A line without its newline: as text, or as bytes that are only valid during the call. */
export type Line = string | Uint8Array;

export interface FrameSink {
  line(line: Line): void;
  /** A line over the limit was skipped whole; `size` is its length in bytes. */
  tooLong(size: number): void;
}

/**
 * Splits a byte stream into lines on 0x0A, whatever the chunks it arrives in (rules FRM-1 to FRM-4).
 * Holds at most `limit` bytes: what is longer is counted and dropped until its newline.
 */
export class Framer {
  limit: number;
  /** The start of a line whose end has not come yet: `size` bytes of it, copied, as the reader may reuse its buffer. */
  private held = new Uint8Array(0);
  private size = 0;

  constructor(limit: number) {
    this.limit = limit;
  }

  push(chunk: Uint8Array, sink: FrameSink): void {
    let start = 0;
    if (this.size > 0) {
      const at = chunk.indexOf(NEWLINE);
      if (at === -1) return this.hold(chunk);
      this.hold(chunk.subarray(0, at));
      this.end(sink);
      start = at + 1;
    }
    const end = chunk.lastIndexOf(NEWLINE) + 1;
    if (end > start) this.split(chunk.subarray(start, end), sink);
    if (end < chunk.length) this.hold(chunk.subarray(end));
  }

  /** The stream ended: a last record without a newline still counts (rule FRM-2). */
  end(sink: FrameSink): void {
    const { held, size } = this;
    this.held = new Uint8Array(0);
    this.size = 0;
    this.finish(held.subarray(0, size), size, sink);
  }

  /** Whole lines, decoded together: a call for each would cost more than the lines do. */
  private split(lines: Uint8Array, sink: FrameSink): void {
    // None is over the limit where all of them are not.
    const text = lines.length <= this.limit ? asText(lines) : undefined;
    let start = 0;
    if (text === undefined) {
      for (let at = lines.indexOf(NEWLINE); at !== -1; at = lines.indexOf(NEWLINE, start)) {
        this.finish(lines.subarray(start, at), at - start, sink);
        start = at + 1;
      }
      return;
    }
    for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", start)) {
      const line = text.slice(start, text.charCodeAt(at - 1) === RETURN && at > start ? at - 1 : at);
      start = at + 1;
      if (!BLANK.test(line)) sink.line(line);
    }
  }

  /** Room is doubled, so that a line costs its length, not its number of chunks. */
  private hold(part: Uint8Array): void {
    const from = this.size;
    this.size += part.length;
    if (this.isTooLong(this.size)) this.held = new Uint8Array(0);
    else {
      if (this.size > this.held.length) {
        const wider = new Uint8Array(Math.max(this.size, 2 * this.held.length));
        wider.set(this.held.subarray(0, from));
        this.held = wider;
      }
      this.held.set(part, from);
    }
  }

  private finish(line: Uint8Array, size: number, sink: FrameSink): void {
    if (this.isTooLong(size)) return sink.tooLong(size);
    if (line.at(-1) === RETURN) line = line.subarray(0, -1);
    if (line.length > this.limit) return sink.tooLong(size);
    if (!isBlank(line)) sink.line(line);
  }

  /** One byte of grace for the 0x0D that may still be dropped. */
  private isTooLong(size: number): boolean {
    return size > this.limit + 1;
  }
}

function isBlank(line: Uint8Array): boolean {
  for (const byte of line) if (byte !== 0x20 && byte !== 0x09) return false;
  return true;
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Undefined where some line is not UTF-8: then each is decoded by itself, so that the others still count. */
function asText(lines: Uint8Array): string | undefined {
  try {
    return utf8.decode(lines);
  } catch {
    return undefined;
  }
}
