import { BytebotError, decode, Framer, standard, type Event, type LineLimits } from "../../src/wire/index.ts";

/** What a reader makes of these chunks: events, and in their place the codes of what was none. */
export function read(chunks: Iterable<Uint8Array>, limits: LineLimits = standard): (Event | string)[] {
  const heard: (Event | string)[] = [];
  const framer = new Framer(limits.line_bytes);
  const sink = {
    line: (bytes: Uint8Array) => void heard.push(decodeOrCode(bytes, limits)),
    tooLong: (size: number) => void heard.push(`too_large ${size}`),
  };
  for (const chunk of chunks) framer.push(chunk, sink);
  framer.end(sink);
  return heard;
}

export function decodeOrCode(bytes: Uint8Array | string, limits: LineLimits = standard): Event | string {
  try {
    return decode(Buffer.from(bytes), limits);
  } catch (error) {
    // Nothing else may come out of it, whatever the bytes.
    if (!(error instanceof BytebotError)) throw error;
    return error.code;
  }
}

/** The bytes cut at these offsets. */
export function cut(bytes: Uint8Array, offsets: readonly number[]): Uint8Array[] {
  const at = [0, ...offsets.map((offset) => offset % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length];
  return at.slice(1).map((end, index) => bytes.subarray(at[index], end));
}
