import { beforeSync, BytebotError, decode, Framer, type Event, type Line, type LineLimits } from "../wire/index.ts";
import type { Receiver } from "./link.ts";

/** So many lines that are no events, of which each event makes good for some: whatever writes there does not speak the wire. */
const MAX_NOISE = 100;
const FORGIVEN = 10;

export interface LineReaderOptions {
  /** For people: who writes the lines. */
  name: string;
  receiver: Receiver;
  /** The most a line may hold until `limit` says otherwise. */
  limits?: LineLimits | undefined;
  /** Nothing but noise comes: the link has to be given up, and why. */
  givenUp: (reason: string) => void;
}

/** Bytes in, checked events out, past what is no event (rules FRM-1 to FRM-8, FRM-11). */
export class LineReader {
  private readonly options: LineReaderOptions;
  private readonly framer: Framer;
  private limits: LineLimits;
  private noise = 0;
  private state: "open" | "deaf" = "open";

  constructor(options: LineReaderOptions) {
    this.options = options;
    this.limits = options.limits ?? beforeSync;
    this.framer = new Framer(this.limits.line_bytes);
  }

  push(chunk: Uint8Array): void {
    this.framer.push(chunk, this);
  }

  /** The stream has ended: a last line without its newline still counts. */
  end(): void {
    this.framer.end(this);
  }

  /** The stream broke: half a line comes again, whole. */
  cut(): void {
    this.framer.end({ line: () => undefined, tooLong: () => undefined });
  }

  limit(limits: LineLimits): void {
    this.limits = limits;
    this.framer.limit = limits.line_bytes;
  }

  /** Nothing is told to the receiver from here on. */
  close(): void {
    this.state = "deaf";
  }

  line(line: Line): void {
    if (this.state === "deaf") return;
    const { receiver } = this.options;
    let event: Event;
    try {
      event = decode(line, this.limits);
    } catch (error) {
      return this.stray(BytebotError.from(error));
    }
    this.noise = Math.max(0, this.noise - FORGIVEN);
    try {
      receiver.event(event);
    } catch (error) {
      receiver.fault(BytebotError.from(error));
    }
  }

  tooLong(size: number): void {
    if (this.state === "deaf") return;
    const message = `a line of ${size} bytes from ${this.options.name}; the limit is ${this.limits.line_bytes}, larger content travels as a blob`;
    this.stray(new BytebotError("too_large", message));
  }

  /** A line that is no event is reported and skipped; a stream of nothing else is given up (hard case: a banner on stdout). */
  private stray(error: BytebotError): void {
    const { name, receiver, givenUp } = this.options;
    receiver.fault(error);
    if (++this.noise < MAX_NOISE) return;
    this.close();
    givenUp(
      `too many lines from ${name} were no events, ${MAX_NOISE} and ten for each that was, the last: ${error.message}; prints belong on stderr`,
    );
  }
}
