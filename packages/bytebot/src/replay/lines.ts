import { Framer, type Line } from "../wire/index.ts";

const NEWLINE = 0x0a;

/** One line of a file, by its number from 1. */
export interface NumberedLine {
  number: number;
  /** Undefined: it is over the limit, and was skipped. */
  line: Line | undefined;
  bytes: number;
  /** The file ended without its newline. */
  unended: boolean;
}

/** Reads a stream of bytes line by line; blank ones are counted and passed over. At most `limit` bytes are held. */
export async function readLines(
  source: AsyncIterable<Uint8Array>,
  limit: number,
  onLine: (line: NumberedLine) => void,
): Promise<void> {
  const framer = new Framer(limit);
  let number = 1;
  let unended = false;
  const sink = {
    line: (line: Line) => onLine({ number, line, bytes: line.length, unended }),
    tooLong: (bytes: number) => onLine({ number, line: undefined, bytes, unended }),
  };
  for await (const chunk of source) {
    let start = 0;
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, start)) {
      framer.push(chunk.subarray(start, at + 1), sink);
      number++;
      start = at + 1;
    }
    if (start < chunk.length) framer.push(chunk.subarray(start), sink);
  }
  unended = true;
  framer.end(sink);
}
