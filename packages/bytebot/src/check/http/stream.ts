import type { IncomingMessage } from "node:http";
import { Framer, wide, type Line } from "../../wire/index.ts";
import { Unmet } from "../check.ts";

/** More lines than that are not kept for a check to look at. */
const MOST_LINES = 10_000;
const NEWLINE = 0x0a;
const COLON = 0x3a;
const MOST_TEXT = 256 * 1024;

/** What one `GET /stream` brings, line by line. */
export class Stream {
  readonly response: IncomingMessage;
  /** The lines that count: neither blank, nor a comment of server-sent events. */
  readonly lines: string[] = [];
  /** Its beginning as it came, a byte a character, where it is of server-sent events. */
  text = "";
  /** Signs of life: empty lines, of server-sent events comments too. */
  signs = 0;
  /** How it ended: by itself, or by a socket that broke. */
  end: "ended" | "broke" | undefined;
  readonly over: Promise<void>;
  private last = NEWLINE;
  private readonly framer = new Framer(wide.line_bytes);
  private readonly waiting = new Set<() => void>();

  /** `heard`: each line that counts, as bytes that are valid during the call alone. */
  constructor(response: IncomingMessage, heard: (line: Uint8Array) => void = () => undefined) {
    this.response = response;
    const sink = {
      line: (line: Line) => this.take(typeof line === "string" ? Buffer.from(line) : line, heard),
      tooLong: (size: number) => this.take(Buffer.from(`(a line of ${size} bytes)`), heard),
    };
    response.on("data", (chunk: Buffer) => {
      this.look(chunk);
      if (this.isSse && this.text.length < MOST_TEXT) this.text += chunk.toString("latin1");
      this.framer.push(chunk, sink);
      this.wake();
    });
    // Its "close" says so too.
    response.on("error", () => undefined);
    this.over = new Promise((resolve) =>
      response.once("close", () => {
        this.end = response.readableEnded ? "ended" : "broke";
        resolve();
        this.wake();
      }),
    );
  }

  get isSse(): boolean {
    return (this.response.headers["content-type"] ?? "").startsWith("text/event-stream");
  }

  /** Breaks it: the socket ends without a word. */
  cut(): void {
    this.response.destroy();
  }

  /** Waits until this holds of it. Throws Unmet where it does not within `ms`. */
  async until(expected: string, holds: (stream: this) => boolean, ms: number): Promise<void> {
    const late = Date.now() + ms;
    while (!holds(this)) {
      const left = late - Date.now();
      if (left <= 0) throw new Unmet(expected, `nothing of that in ${ms / 1000} s`);
      if (this.end) throw new Unmet(expected, `a stream that ${this.end}`);
      await new Promise<void>((resolve) => {
        const over = (): void => {
          clearTimeout(timer);
          this.waiting.delete(over);
          resolve();
        };
        const timer = setTimeout(over, left);
        this.waiting.add(over);
      });
    }
  }

  private take(line: Uint8Array, heard: (line: Uint8Array) => void): void {
    const text = Buffer.from(line).toString();
    const at = this.isSse ? (/^data: ?/.exec(text)?.[0].length ?? -1) : 0;
    if (at === -1 || text.trim() === "") return;
    if (this.lines.length < MOST_LINES) this.lines.push(text.slice(at));
    heard(line.subarray(at));
  }

  /** An empty line is one newline after another. */
  private look(chunk: Buffer): void {
    if (this.last === NEWLINE && (chunk[0] === NEWLINE || (this.isSse && chunk[0] === COLON))) this.signs++;
    for (let at = chunk.indexOf("\n\n"); at !== -1; at = chunk.indexOf("\n\n", at + 1)) this.signs++;
    this.last = chunk.at(-1) ?? this.last;
  }

  private wake(): void {
    for (const resolve of this.waiting) resolve();
  }
}
