import type { Readable, Writable } from "node:stream";
import { beforeSync, BytebotError, decode, encode, Framer, type Event, type LineLimits } from "../wire/index.ts";
import type { Link, Receiver } from "./link.ts";

const HIGH_WATER = 1024 * 1024;
/** What a peer that stopped reading may still be sent when the link closes, in milliseconds. */
const FLUSH_MS = 1000;
/** So many lines in a row that are no events: whatever writes there does not speak the wire. */
const MAX_NOISE = 100;

export interface LineStreams {
  name: string;
  readable: Readable;
  writable: Writable;
  /** The most a line may hold until `limit` says otherwise. */
  limits?: LineLimits;
  /** Ends what carries the streams (a child, a socket), after the last line was written; never rejects. */
  end: () => Promise<void>;
  /** Says more of an end that came from the other side than what the streams saw: how its process exited. */
  why?: (seen: string) => Promise<string>;
}

/** Events as lines over a pair of byte streams: stdio, a socket (rules FRM-1 to FRM-8). */
export class LineLink implements Link {
  readonly name: string;
  private readonly streams: LineStreams;
  private readonly receiver: Receiver;
  private readonly framer: Framer;
  private limits: LineLimits;
  private queue = "";
  private noise = 0;
  /** Set as soon as the end has begun, from either side; resolves when nothing is left. */
  private ending: Promise<void> | undefined;
  private told = false;
  private waiting: (() => void)[] = [];

  constructor(streams: LineStreams, receiver: Receiver) {
    this.name = streams.name;
    this.streams = streams;
    this.receiver = receiver;
    this.limits = streams.limits ?? beforeSync;
    this.framer = new Framer(this.limits.line_bytes);
    const { readable, writable } = streams;
    readable.on("data", (chunk: Buffer) => this.framer.push(chunk, this));
    readable.on("end", () => {
      this.framer.end(this);
      this.lost("it closed its output");
    });
    readable.on("error", (error) => this.lost(`reading from it failed: ${error.message}`));
    readable.on("close", () => this.lost("it closed its output"));
    writable.on("error", (error) => this.lost(`it does not take input any more: ${error.message}`));
    writable.on("drain", () => this.release());
  }

  line(bytes: Uint8Array): void {
    if (this.isDeaf()) return;
    let event: Event;
    try {
      event = decode(bytes, this.limits);
    } catch (error) {
      return this.stray(BytebotError.from(error));
    }
    this.noise = 0;
    try {
      this.receiver.event(event);
    } catch (error) {
      this.receiver.fault(BytebotError.from(error));
    }
  }

  tooLong(size: number): void {
    if (this.isDeaf()) return;
    const message = `a line of ${size} bytes from ${this.name}; the limit is ${this.limits.line_bytes}, larger content travels as a blob`;
    this.stray(new BytebotError("too_large", message));
  }

  send(event: Event): void {
    if (this.ending) return;
    let line: string;
    try {
      line = encodeOnce(event);
    } catch (error) {
      this.receiver.fault(BytebotError.from(error, "invalid_event"));
      return;
    }
    if (this.queue === "") setImmediate(() => this.flush());
    this.queue += line;
    if (this.queue.length > HIGH_WATER) this.flush();
  }

  get buffered(): number {
    return this.queue.length + this.streams.writable.writableLength;
  }

  drained(): Promise<void> {
    this.flush();
    if (this.buffered < HIGH_WATER || this.ending) return Promise.resolve();
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  limit(limits: LineLimits): void {
    this.limits = limits;
    this.framer.limit = limits.line_bytes;
  }

  close(reason: string): Promise<void> {
    this.ending ??= this.finish(reason);
    return this.ending;
  }

  /** The other end, or the stream to it, ended first. */
  private lost(seen: string): void {
    this.ending ??= this.fall(seen);
  }

  private async finish(reason: string): Promise<void> {
    this.flush();
    this.release();
    await this.written();
    await this.streams.end();
    this.tell(reason);
  }

  private async fall(seen: string): Promise<void> {
    this.release();
    // Lines that were already on their way still count: only `tell` shuts the door.
    const reason = this.streams.why ? await this.streams.why(seen) : seen;
    this.tell(reason);
    await this.streams.end();
  }

  private tell(reason: string): void {
    this.told = true;
    this.receiver.closed(reason);
  }

  private isDeaf(): boolean {
    return this.told || this.noise >= MAX_NOISE;
  }

  /** A line that is no event is reported and skipped; a stream of nothing else is given up (hard case: a banner on stdout). */
  private stray(error: BytebotError): void {
    this.receiver.fault(error);
    if (++this.noise < MAX_NOISE) return;
    void this.close(
      `${MAX_NOISE} lines in a row from ${this.name} were no events, the last: ${error.message}; prints belong on stderr`,
    );
  }

  private flush(): void {
    if (this.queue === "") return;
    const lines = this.queue;
    this.queue = "";
    if (this.streams.writable.writable) this.streams.writable.write(lines);
  }

  /** The last lines have left, or the peer does not read. */
  private written(): Promise<void> {
    const { writable } = this.streams;
    if (!writable.writable || writable.writableLength === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, FLUSH_MS);
      writable.write("", () => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  private release(): void {
    const waiting = this.waiting;
    this.waiting = [];
    for (const resolve of waiting) resolve();
  }
}

let lastEvent: Event | undefined;
let lastLine = "";

/** A fan-out sends the same frozen event to many links in a row: it is encoded once. */
function encodeOnce(event: Event): string {
  if (event === lastEvent) return lastLine;
  const line = encode(event);
  // What is not frozen may have changed by the next send.
  if (Object.isFrozen(event)) {
    lastEvent = event;
    lastLine = line;
  }
  return line;
}
