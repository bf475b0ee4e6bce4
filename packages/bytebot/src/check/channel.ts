import { setTimeout } from "node:timers/promises";
import type { Reached } from "../app/reached.ts";
import type { ChildStreams } from "../transport/index.ts";
import { BytebotError, encode, Framer, wide, type Event, type Line } from "../wire/index.ts";
import { Dialing } from "./http/dialing.ts";
import type { Listening } from "./http/listening.ts";
import { Serving } from "./http/serving.ts";
import type { Received, Trace } from "./trace.ts";

/** Without a pause pieces may be joined on their way. */
const PAUSE_MS = 50;

/** One connection to the component, from the Hub's side, and all that crossed it. */
export interface Channel {
  send(event: Event): void;
  /** The bytes beneath, where there are any. */
  raw?: Raw;
  /** A process on stdio. */
  process?: { endInput(): void; exited: Promise<unknown> };
  /** Ends it and all that was started for it; resolves when nothing is left. */
  close(reason: string): Promise<void>;
}

export interface Raw {
  /** Resolves when they have left, one piece after the other, with a pause in which they are read. */
  write(...pieces: Uint8Array[]): Promise<void>;
}

/** What the channel tells: each line or event that came, and the end. */
export interface Ear {
  heard(received: Received): void;
  closed(reason: string): void;
}

/** A component, and where a program that dials in finds its Hub. */
export interface Tested extends Reached {
  listening?: Listening;
}

/** How it is reached. */
export type Way = "stdio" | "serves" | "dials" | "inproc";

export function wayOf({ start, http, listening }: Tested): Way {
  if (start) return listening ? "dials" : "stdio";
  return http ? "serves" : "inproc";
}

/** Rejects with BytebotError where the component cannot be reached at all. */
export function openChannel(reached: Tested, trace: Trace, ear: Ear, signal: AbortSignal): Promise<Channel> {
  const { start, http, listening } = reached;
  if (start && listening) return Serving.open(start, listening, trace, ear, signal);
  if (start) return overBytes(start, trace, ear, signal);
  return http ? Dialing.open(http, trace, ear, signal) : overLink(reached, trace, ear, signal);
}

/** A process: its own bytes, so that how lines are cut and ended is seen and said here. */
async function overBytes(
  start: NonNullable<Reached["start"]>,
  trace: Trace,
  ear: Ear,
  signal: AbortSignal,
): Promise<Channel> {
  const streams = await start(signal, (line) => trace.stderr(line));
  const { readable, writable } = streams;
  const framer = new Framer(wide.line_bytes);
  let unended = false;
  const sink = {
    line: (line: Line) => ear.heard(trace.hearLine(typeof line === "string" ? Buffer.from(line) : line, unended)),
    tooLong: (size: number) => ear.heard(trace.hearFault(new BytebotError("too_large", `a line of ${size} bytes`))),
  };
  const end = once(async (seen: string) => {
    unended = true;
    framer.end(sink);
    ear.closed(streams.why ? await streams.why(seen) : seen);
  });
  readable.on("data", (chunk: Buffer) => {
    framer.push(chunk, sink);
    // Nobody reads what is not kept.
    if (trace.overflow) readable.pause();
  });
  readable.on("end", () => void end("it closed its output"));
  readable.on("close", () => void end("it closed its output"));
  readable.on("error", (error) => void end(`reading from it failed: ${error.message}`));
  // A component that does not read any more says so by what it does not answer.
  writable.on("error", () => undefined);
  return {
    send: (event) => {
      trace.sent(event);
      if (writable.writable) writable.write(encode(event));
    },
    raw: rawOf(streams, trace),
    process: { endInput: () => writable.end(), exited: streams.exited },
    close: () => streams.end(),
  };
}

function rawOf({ writable }: ChildStreams, trace: Trace): Raw {
  return {
    write: async (...pieces) => {
      trace.sentBytes(Buffer.concat(pieces));
      for (const [index, piece] of pieces.entries()) {
        if (index > 0) await setTimeout(PAUSE_MS);
        if (writable.writable) await new Promise<void>((resolve) => writable.write(piece, () => resolve()));
      }
    },
  };
}

async function overLink(reached: Reached, trace: Trace, ear: Ear, signal: AbortSignal): Promise<Channel> {
  const receiver = {
    event: (event: Event) => ear.heard(trace.hear(event)),
    fault: (error: BytebotError) => ear.heard(trace.hearFault(error)),
    closed: (reason: string) => ear.closed(reason),
  };
  const link = await reached.connect(receiver, signal);
  link.limit(wide);
  return {
    send: (event) => {
      trace.sent(event);
      link.send(event);
    },
    close: (reason) => link.close(reason),
  };
}

function once<Argument>(run: (argument: Argument) => Promise<void>): (argument: Argument) => Promise<void> {
  let running: Promise<void> | undefined;
  return (argument) => (running ??= run(argument));
}
