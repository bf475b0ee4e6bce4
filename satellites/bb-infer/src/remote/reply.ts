import { setImmediate as turnOfTheLoop } from "node:timers/promises";
import { EndMark, type Format } from "./end-mark.ts";
import { Frames, PIECE } from "./frames.ts";
import { NamePieces } from "./name-pieces.ts";
import type { Watch } from "./watched.ts";

/** Bytes of one event; a picture that a model made is one. */
export const MAX_EVENT = 32 * 1024 * 1024;
/** Bytes read of a reply that is no stream: enough to say what it is. */
const READ = 64 * 1024;
/** Time for a server to end the reply itself, so that its connection can be used again. */
const LINGER_MS = 250;

/** What came, up to the event that ends it, in pieces that the package can read. */
export function reply(
  body: ReadableStream<Uint8Array>,
  watch: Watch,
  format: Format,
  tools: readonly string[],
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const mark = new EndMark(format);
  const frames = format === "converse" ? new Frames() : undefined;
  const names = format === "chat" ? new NamePieces(tools) : undefined;
  const event = new EventSize();
  let lingering: NodeJS.Timeout | undefined;
  const done = () => {
    clearTimeout(lingering);
    watch.end();
  };
  return watched(reader, done, async (controller) => {
    for (;;) {
      const { done: ended, value } = await reader.read().catch((error: unknown) => {
        // After its end a reply is whole, however its connection is closed.
        if (mark.ended) return { done: true as const, value: undefined };
        throw error;
      });
      if (ended) {
        const rest = (frames ?? names)?.rest();
        if (rest && rest.length > 0) controller.enqueue(rest);
        return "ended";
      }
      watch.heard();
      if (mark.ended) continue;
      const size = mark.take(value);
      const said = size === value.length ? value : value.subarray(0, size);
      const some = frames ? frames.take(said) : cut(names ? names.take(said) : said);
      if (!some || (!frames && event.take(value) > MAX_EVENT)) throw watch.noReply();
      if (mark.ended || mark.isWhole) {
        clearTimeout(lingering);
        // It may be broken off in the meantime.
        const end = () => void reader.cancel().catch(() => undefined);
        lingering = setTimeout(end, mark.ended ? LINGER_MS : watch.quietMs);
      }
      for (const [at, piece] of some.entries()) {
        // What there is to do for all of them must not keep the others waiting.
        if (at > 0) await turnOfTheLoop();
        controller.enqueue(piece);
      }
      if (some.length > 0) return "more";
    }
  });
}

function cut(bytes: Uint8Array): Uint8Array[] {
  if (bytes.length <= PIECE) return bytes.length === 0 ? [] : [bytes];
  return Array.from({ length: Math.ceil(bytes.length / PIECE) }, (_, at) =>
    bytes.subarray(at * PIECE, (at + 1) * PIECE),
  );
}

/** Of an error's body what is worth reading. */
export function beginning(body: ReadableStream<Uint8Array>, watch: Watch): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let read = 0;
  return watched(reader, watch.end, async (controller) => {
    const { done, value } = await reader.read();
    if (done) return "ended";
    watch.heard();
    controller.enqueue(value.subarray(0, READ - read));
    read += value.length;
    if (read < READ) return "more";
    await reader.cancel();
    return "ended";
  });
}

/** A stream of what `next` takes from the reader. However it ends, `done` is called. */
function watched(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  done: () => void,
  next: (controller: ReadableStreamDefaultController<Uint8Array>) => Promise<"more" | "ended">,
): ReadableStream<Uint8Array> {
  return new ReadableStream({
    async pull(controller) {
      try {
        if ((await next(controller)) === "more") return;
        done();
        controller.close();
      } catch (error) {
        done();
        void reader.cancel(error).catch(() => undefined);
        throw error;
      }
    },
    async cancel(reason) {
      done();
      await reader.cancel(reason);
    },
  });
}

/** Of an event stream the bytes of the event that has begun, give or take its end. */
class EventSize {
  private size = 0;
  private atLineEnd = false;

  take(chunk: Uint8Array): number {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const blank = Math.max(bytes.lastIndexOf("\n\n"), bytes.lastIndexOf("\n\r\n"));
    // The line's end may have come with the chunk before.
    const begins = this.atLineEnd && (bytes[0] === LF || (bytes[0] === CR && bytes[1] === LF));
    if (blank >= 0) this.size = bytes.length - blank;
    else this.size = bytes.length + (begins ? 0 : this.size);
    this.atLineEnd = bytes.at(-1) === LF;
    return this.size;
  }
}

const LF = 10;
const CR = 13;
