/** How a provider writes its streams. */
export type Format = "chat" | "responses" | "messages" | "gemini" | "converse" | "other";

/** What stands at the beginning of a line of an event stream that is complete with this event. */
const marks: Partial<Record<Format, { text: RegExp; longest: number }>> = {
  chat: { text: /[\r\n]data: ?\[DONE\]/, longest: "\ndata: [DONE]".length },
  messages: { text: /[\r\n]event: ?message_stop/, longest: "\nevent: message_stop".length },
  responses: {
    text: /[\r\n]event: ?response\.(?:completed|incomplete|failed)/,
    longest: "\nevent: response.incomplete".length,
  },
};
const END_OF_EVENT = /\r?\n\r?\n|\r\r/;

/** Finds the end of an event stream, however it is cut into chunks. */
export class EndMark {
  private readonly mark: { text: RegExp; longest: number } | undefined;
  // The last bytes that came, as a character each: mark and end of the event may be cut anywhere.
  private last = "\n";
  private state: "open" | "ending" | "ended" = "open";

  constructor(format: Format) {
    this.mark = marks[format];
  }

  get ended(): boolean {
    return this.state === "ended";
  }

  /** How many bytes of the chunk belong to the stream: all, but for what comes behind the event that ends it. */
  take(chunk: Uint8Array): number {
    if (!this.mark) return chunk.length;
    const text = this.last + Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).toString("latin1");
    let from = 0;
    if (this.state === "open") {
      const found = this.mark.text.exec(text);
      if (!found) {
        this.last = text.slice(1 - this.mark.longest);
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
