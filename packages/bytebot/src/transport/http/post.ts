import { ackNameOf, BytebotError, encode, nameOf, type Event } from "../../wire/index.ts";

/** What an answer that comes by itself may take before the request is answered without it, in milliseconds. */
const ANSWER_MS = 25_000;

/**
 * One inbox request: each of its lines gets one line in answer, `bb_ack` or `bb_error`, at its place (rule HTP-4). Of a
 * request that came once before, and broke, the lines that counted are skipped (rule HTP-8).
 */
export class Post {
  readonly answers: string[];
  private skipping: number;
  /** The line that is being handed over. */
  private current: { at: number; name: string | undefined; later: boolean } | undefined;
  private readonly waiting = new Map<string, number[]>();
  private settle: (() => void) | undefined;
  private open = 0;

  constructor(answers: string[]) {
    this.answers = answers;
    this.skipping = answers.length;
  }

  /** Is the line that comes one that counted when the request came first? */
  skips(): boolean {
    if (this.skipping === 0) return false;
    this.skipping--;
    return true;
  }

  /** A line is handed to the receiver; `undefined`: it was no event. */
  begin(event: Event | undefined, later: boolean): void {
    const at = this.answers.push("") - 1;
    const name = event && nameOf(event);
    this.current = { at, name, later };
    if (!later) return;
    this.open++;
    const key = keyOf(event!);
    this.waiting.set(key, [...(this.waiting.get(key) ?? []), at]);
  }

  /** Is this an answer to a line of the request? Then it goes out there and not on the stream. */
  takes(event: Event, line: string): boolean {
    const type = event.event_type;
    if (type !== "bb_ack" && type !== "bb_error" && type !== "bb_sync_ack") return false;
    const inReplyTo = event["in_reply_to"];
    const { current } = this;
    if (current && !current.later && isFor(current.name, type, inReplyTo)) {
      this.answers[current.at] = line;
      return true;
    }
    const key = typeof inReplyTo === "string" ? inReplyTo : type === "bb_ack" ? undefined : "";
    return key !== undefined && this.settleLater(key, line);
  }

  /** The answer to all lines of this name; false where none waits for one. */
  private settleLater(key: string, line: string): boolean {
    const places = this.waiting.get(key);
    if (!places) return false;
    this.waiting.delete(key);
    for (const at of places) this.answers[at] = line;
    this.open -= places.length;
    if (this.open === 0) this.settle?.();
    return true;
  }

  /** The receiver has taken the event. */
  done(event: Event): void {
    const { current } = this;
    this.current = undefined;
    if (!current || current.later || this.answers[current.at] !== "") return;
    const name = ackNameOf(event);
    this.answers[current.at] = encode({ event_type: "bb_ack", ...(name === undefined ? {} : { in_reply_to: name }) });
  }

  /** The receiver takes the event when what came before it is done: until then it may still be refused. */
  hold(event: Event, taken: Promise<void>): void {
    const { current } = this;
    this.current = undefined;
    if (!current || current.later || this.answers[current.at] !== "") return;
    const { at } = current;
    const name = ackNameOf(event);
    const key = nameOf(event) ?? `line ${at}`;
    this.open++;
    this.waiting.set(key, [...(this.waiting.get(key) ?? []), at]);
    void taken.then(() => {
      if (!this.waiting.get(key)?.includes(at)) return;
      this.settleLater(key, encode({ event_type: "bb_ack", ...(name === undefined ? {} : { in_reply_to: name }) }));
    });
  }

  /** The line was no event, or was not taken. */
  failed(error: BytebotError): void {
    const { current } = this;
    this.current = undefined;
    if (!current || this.answers[current.at] !== "") return;
    const named = current.name === undefined ? {} : { in_reply_to: current.name };
    const line = encode({ event_type: "bb_error", ...named, ...error.toWire() });
    if (current.later) this.settleLater(current.name ?? "", line);
    else this.answers[current.at] = line;
  }

  /** Nothing more comes: what has no answer yet gets it on the stream. */
  cut(): void {
    this.open = 0;
    this.settle?.();
  }

  /** Resolves when every line has its answer, or after a while without. */
  async answered(): Promise<void> {
    if (this.open > 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.settle = resolve;
      const timer = setTimeout(resolve, ANSWER_MS);
      await promise;
      clearTimeout(timer);
    }
    for (const [key, places] of this.waiting) for (const at of places) this.answers[at] = late(key);
    this.waiting.clear();
  }
}

/** Does this answer the line that is being handed over? An error names it, or nothing; an acknowledgement names it. */
function isFor(name: string | undefined, type: string, inReplyTo: unknown): boolean {
  if (inReplyTo === undefined) return type === "bb_error";
  return type !== "bb_sync_ack" && inReplyTo === name;
}

/** `bb_sync` may come without an id, and is then answered without one. */
function keyOf(event: Event): string {
  return nameOf(event) ?? "";
}

function late(key: string): string {
  const error = new BytebotError("timeout", "the answer is not there yet: it comes on the stream", { retryable: true });
  return encode({ event_type: "bb_error", ...(key === "" ? {} : { in_reply_to: key }), ...error.toWire() });
}
