import type { LineReader } from "../reader.ts";

/** One line, with its newline, as an event of text/event-stream; `id` is the cursor a reader may return with (rule HTP-5). */
export function toSse(line: string, cursor: string | undefined): string {
  return cursor !== undefined && CURSOR.test(cursor) ? `id: ${cursor}\ndata: ${line}\n` : `data: ${line}\n`;
}

/** What a peer wrote there may break out of its field. */
const CURSOR = /^[\x21-\x7e]{1,256}$/;

/** An empty line, or a comment: says that the stream lives. */
export const heartbeat = { ndjson: "\n", sse: ":\n\n" };

const COLON = 0x3a;
const NEWLINE = 0x0a;
const RETURN = 0x0d;
const SPACE = 0x20;
const DATA = Buffer.from("data");

/**
 * Strips text/event-stream down to the lines in it: what follows `data:` goes on to `reader`, whose own limit bounds it;
 * comments and other fields are skipped. An event has one `data` field, as an event of the wire is one line.
 */
export class SseReader {
  private readonly reader: LineReader;
  /** Where in a line we stand: before its colon, in a `data` value's first byte, in a value that counts, in one that does not. */
  private state: "field" | "first" | "data" | "skip" = "field";
  private field = Buffer.alloc(DATA.length + 1);
  private size = 0;

  constructor(reader: LineReader) {
    this.reader = reader;
  }

  push(chunk: Uint8Array): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.state === "field") at = this.name(chunk, at);
      else if (this.state === "first") {
        if (chunk[at] === SPACE) at++;
        this.state = "data";
      } else at = this.value(chunk, at);
    }
  }

  end(): void {
    if (this.state === "data") this.reader.end();
  }

  private name(chunk: Uint8Array, at: number): number {
    for (; at < chunk.length; at++) {
      const byte = chunk[at]!;
      if (byte === NEWLINE) this.size = 0;
      else if (byte === COLON) {
        const isData = this.size === DATA.length && this.field.subarray(0, this.size).equals(DATA);
        this.state = isData ? "first" : "skip";
        this.size = 0;
        return at + 1;
      } else if (byte !== RETURN && this.size < this.field.length) this.field[this.size++] = byte;
    }
    return at;
  }

  private value(chunk: Uint8Array, at: number): number {
    const end = chunk.indexOf(NEWLINE, at);
    const stop = end === -1 ? chunk.length : end + 1;
    if (this.state === "data") this.reader.push(chunk.subarray(at, stop));
    if (end !== -1) this.state = "field";
    return stop;
  }
}
