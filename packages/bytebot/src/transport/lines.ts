import type { Readable, Writable } from "node:stream";
import { BytebotError, encode, HIGH_WATER, type Event, type LineLimits } from "../wire/index.ts";
import { leaveSoon, read } from "./leave.ts";
import type { Link, Receiver } from "./link.ts";
import { LineReader } from "./reader.ts";

/** About as much is written at once, in characters: what waits for a slow peer is seen to move by such steps. */
const PIECE = 64 * 1024;
/** What a peer that stopped reading may still be sent when the link closes, in milliseconds. */
const FLUSH_MS = 1000;

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
  private readonly reader: LineReader;
  /** Lines that leave together. */
  private queue = "";
  /** Lines that wait until those before them were taken. */
  private pieces: string[] = [];
  private waitingLength = 0;
  /** Set as soon as the end has begun, from either side; resolves when nothing is left. */
  private ending: Promise<void> | undefined;
  private waiting: (() => void)[] = [];

  constructor(streams: LineStreams, receiver: Receiver) {
    this.name = streams.name;
    this.streams = streams;
    this.receiver = receiver;
    this.reader = new LineReader({
      name: streams.name,
      receiver,
      limits: streams.limits,
      givenUp: (reason) => void this.close(reason),
    });
    const { readable, writable } = streams;
    readable.on("data", (chunk: Buffer) => read(chunk, this.reader));
    readable.on("end", () => {
      this.reader.end();
      this.lost("it closed its output");
    });
    readable.on("error", (error) => this.lost(`reading from it failed: ${error.message}`));
    readable.on("close", () => this.lost("it closed its output"));
    writable.on("error", (error) => this.lost(`it does not take input any more: ${error.message}`));
    writable.on("drain", () => {
      this.write();
      if (this.buffered < HIGH_WATER) this.release();
    });
  }

  send(event: Event, known?: () => string): void {
    if (this.ending) return;
    const line = lineOr(this.receiver, event, known);
    if (line === undefined) return;
    if (this.queue === "") leaveSoon(this);
    this.queue += line;
    if (this.queue.length > PIECE) this.flush();
  }

  get buffered(): number {
    return this.queue.length + this.waitingLength + this.streams.writable.writableLength;
  }

  drained(): Promise<void> {
    this.flush();
    if (this.buffered < HIGH_WATER || this.ending) return Promise.resolve();
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  limit(limits: LineLimits): void {
    this.reader.limit(limits);
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
    while (this.pieces.length > 0 && this.streams.writable.writable) this.writeNext();
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
    this.reader.close();
    this.receiver.closed(reason);
  }

  /** Hands over what gathered, as far as the peer takes it. */
  flush(): void {
    if (this.queue === "") return;
    const last = this.pieces.length - 1;
    if (last >= 0 && this.pieces[last]!.length < PIECE) this.pieces[last] += this.queue;
    else this.pieces.push(this.queue);
    this.waitingLength += this.queue.length;
    this.queue = "";
    this.write();
  }

  private write(): void {
    const { writable } = this.streams;
    while (this.pieces.length > 0 && writable.writable && !writable.writableNeedDrain) this.writeNext();
  }

  private writeNext(): void {
    const lines = this.pieces.shift()!;
    this.waitingLength -= lines.length;
    this.streams.writable.write(lines);
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

/** The event as a line, `known` where it is ready; what JSON cannot carry is a fault, and undefined. */
export function lineOr(receiver: Receiver, event: Event, known?: () => string): string | undefined {
  try {
    return encodeOnce(event, known);
  } catch (error) {
    receiver.fault(BytebotError.from(error, "invalid_event"));
    return undefined;
  }
}

/** A fan-out sends the same frozen event to many links in a row: it is encoded once. */
function encodeOnce(event: Event, known?: () => string): string {
  if (event === lastEvent) return lastLine;
  const line = known ? known() : encode(event);
  // What is not frozen may have changed by the next send.
  if (Object.isFrozen(event)) {
    lastEvent = event;
    lastLine = line;
  }
  return line;
}
