const NEWLINE = 0x0a;
const RETURN = 0x0d;

export interface FrameSink {
  /** One line without its newline; the bytes are only valid during the call. */
  line(bytes: Uint8Array): void;
  /** A line over the limit was skipped whole; `size` is its length in bytes. */
  tooLong(size: number): void;
}

/**
 * Splits a byte stream into lines on 0x0A, whatever the chunks it arrives in (rules FRM-1 to FRM-4).
 * Holds at most `limit` bytes: what is longer is counted and dropped until its newline.
 */
export class Framer {
  limit: number;
  private parts: Uint8Array[] = [];
  private size = 0;

  constructor(limit: number) {
    this.limit = limit;
  }

  push(chunk: Uint8Array, sink: FrameSink): void {
    let start = 0;
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, start)) {
      this.take(chunk.subarray(start, at));
      start = at + 1;
      this.finish(sink);
    }
    if (start < chunk.length) this.take(chunk.subarray(start), true);
  }

  /** The stream ended: a last record without a newline still counts (rule FRM-2). */
  end(sink: FrameSink): void {
    this.finish(sink);
  }

  private take(part: Uint8Array, keep = false): void {
    this.size += part.length;
    // One byte of grace for the 0x0D that may still be dropped.
    if (this.size > this.limit + 1) this.parts = [];
    // The reader may reuse its buffer, so what outlives this call is copied.
    else if (part.length > 0) this.parts.push(keep ? part.slice() : part);
  }

  private finish(sink: FrameSink): void {
    const { parts, size } = this;
    this.parts = [];
    this.size = 0;
    if (size > this.limit + 1) return sink.tooLong(size);
    let line = parts.length === 1 ? parts[0]! : join(parts, size);
    if (line.at(-1) === RETURN) line = line.subarray(0, -1);
    if (line.length > this.limit) return sink.tooLong(size);
    if (!isBlank(line)) sink.line(line);
  }
}

function join(parts: Uint8Array[], size: number): Uint8Array {
  const whole = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function isBlank(line: Uint8Array): boolean {
  for (const byte of line) if (byte !== 0x20 && byte !== 0x09) return false;
  return true;
}
