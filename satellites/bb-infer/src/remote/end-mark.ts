import { CandidateEnd } from "./candidate-end.ts";

/** How a provider writes its streams. */
export type Format = "chat" | "responses" | "messages" | "gemini" | "converse" | "other";

/** What stands at the beginning of a line of an event stream that is complete with this event. */
const marks: Partial<Record<Format, RegExp>> = {
  chat: /[\r\n]data: ?\[DONE\]/,
  messages: /[\r\n]event: ?message_stop/,
  responses: /[\r\n]event: ?response\.(?:completed|incomplete|failed)/,
};
/** What says that a reply is whole, though more may come: counts, the mark above, or nothing but the connection's end. */
const wholes: Partial<Record<Format, RegExp>> = {
  // Some servers write it on each chunk, empty until the last.
  chat: /[^\\]"finish_reason": ?"[^"]/,
  // Where the server leaves out the names of events.
  messages: /[^\\]"type": ?"message_stop"/,
  responses: /[^\\]"type": ?"response\.(?:completed|incomplete)"/,
  // The name of an event, as its frame has it: type and length before it.
  converse: /:event-type\x07\0\x0bmessageStop/,
};
/** Characters of the longest of all these. */
const LONGEST = 48;
const END_OF_EVENT = /\r?\n\r?\n|\r\r/;

/** Finds the end of an event stream, however it is cut into chunks. */
export class EndMark {
  /** It has said why it stops: that nothing follows is no failure. */
  isWhole = false;
  private readonly mark: RegExp | undefined;
  private readonly whole: RegExp | undefined;
  private readonly candidate: CandidateEnd | undefined;
  // The last bytes that came, as a character each: mark and end of the event may be cut anywhere.
  private last = "\n";
  private state: "open" | "ending" | "ended" = "open";

  constructor(format: Format) {
    this.mark = marks[format];
    this.whole = wholes[format];
    this.candidate = format === "gemini" ? new CandidateEnd() : undefined;
  }

  get ended(): boolean {
    return this.state === "ended";
  }

  /** How many bytes of the chunk belong to the stream: all, but for what comes behind the event that ends it. */
  take(chunk: Uint8Array): number {
    if (this.candidate?.take(chunk)) this.isWhole = true;
    if (!this.mark && !this.whole) return chunk.length;
    const text = this.last + Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).toString("latin1");
    let from = 0;
    if (this.state === "open") {
      this.isWhole ||= this.whole?.test(text) === true;
      const found = this.mark?.exec(text);
      if (!found) {
        this.last = text.slice(-LONGEST);
        return chunk.length;
      }
      this.state = "ending";
      from = found.index + found[0].length;
    }
    const end = END_OF_EVENT.exec(text.slice(from));
    if (!end) {
      this.last = text.slice(Math.max(from, text.length - 3));
      return chunk.length;
    }
    this.state = "ended";
    return Math.max(0, from + end.index + end[0].length - this.last.length);
  }
}
