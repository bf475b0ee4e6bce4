import assert from "node:assert/strict";
import { BytebotError, decode, Framer, type Event } from "../../src/wire/index.ts";
import type { Target } from "./random.ts";

const limits = { line_bytes: 64, values: 20, depth: 5 };
const lines = [
  "\n", "\r\n", "\r", " ", "\t", "{", "}", "[", "]", '"', ":", ",", "\\", '{"event_type":"a"}', '"event_type"', '"__proto__"',
  "1e999", "9007199254740993", "null", "\u2028", "😀", "é", "\ufeff", '"\\ud800"', "x".repeat(30), "\0",
]; // prettier-ignore

/** Random bytes, cut at random: lines within the limit, the same for every cutting, and events that the wire may carry. */
export const framer: Target = (random) => {
  const bytes = Buffer.concat(
    random.some(40, () =>
      random.below(10) === 0 ? Buffer.from([random.below(256)]) : Buffer.from(random.pick(lines)),
    ),
  );
  const heard = read([bytes]);
  assert.deepEqual(read(random.cut(bytes)), heard);
  assert.deepEqual(read(Array.from(bytes, (byte) => Buffer.of(byte))), heard);
  const plain = bytes.toString("latin1").split("\n");
  const expected = plain
    .map((line) => Buffer.from(line.replace(/\r$/, ""), "latin1"))
    .filter((line) => !/^[ \t]*$/.test(line.toString("latin1")) || line.length > limits.line_bytes);
  assert.equal(heard.length, expected.length, "one answer a line that is not blank");
  for (const [index, line] of heard.entries()) {
    if (typeof line === "number") assert.ok(line > limits.line_bytes, "only what is too long is skipped");
    else assert.deepEqual(line, expected[index]);
    if (typeof line !== "number") decodes(line);
  }
};

/** A line as it was given, or the size of one that was skipped. */
function read(chunks: readonly Uint8Array[]): (Buffer | number)[] {
  const heard: (Buffer | number)[] = [];
  const reader = new Framer(limits.line_bytes);
  const sink = {
    line: (bytes: Uint8Array) => void heard.push(Buffer.from(bytes)),
    tooLong: (size: number) => void heard.push(size),
  };
  for (const chunk of chunks) reader.push(chunk, sink);
  reader.end(sink);
  return heard;
}

function decodes(line: Uint8Array): void {
  let event: Event;
  try {
    event = decode(line, limits);
  } catch (error) {
    assert.ok(error instanceof BytebotError, String(error));
    return;
  }
  assert.ok(typeof event.event_type === "string" && event.event_type !== "");
  const again = JSON.stringify(event);
  assert.ok(again.isWellFormed());
  assert.doesNotMatch(again, /"(?:__proto__|constructor|prototype)":/);
}
