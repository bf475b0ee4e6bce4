import { encode, kinds, type Event } from "../wire/index.ts";
import type { Check } from "./check.ts";
import type { Peer } from "./peer.ts";
import type { Stage } from "./stage.ts";
import { newId } from "./work.ts";

const MIB = 1024 * 1024;
/** Two-, three- and four-byte characters, to be cut in their middle. */
const WIDE_TEXT = "äöü – 日本 \u{1F600}";

/** Sends one question in a form of its own, and waits for the answer. */
function reads(
  check: Omit<Check, "kinds" | "run">,
  send: (peer: Peer, line: string, question: Event) => unknown,
): Check {
  return {
    kinds,
    needs: "handshake",
    ...check,
    run: async (stage) => {
      const peer = await stage.attach();
      const question = await stage.question(peer);
      const event = { ...question.event, note: WIDE_TEXT };
      await send(peer, encode(event), event);
      await stage.answer(peer, question, stage.questionMs());
    },
  };
}

const LONG =
  "in Go bufio.Scanner needs Buffer(…, 16<<20), in Python asyncio.StreamReader limit=16*2**20; where it is only slow, give it --timeout";
const BINARY =
  "read bytes and cut them at 0x0A: in Python for line in sys.stdin.buffer, in Go bufio.Reader.ReadBytes('\\n')";

export const readingChecks: Check[] = [
  reads(
    {
      rule: "FRM-1",
      title: "A line that comes in many pieces, cut within characters too, is one event",
      bytes: true,
      fix: BINARY,
    },
    (peer, line) => peer.write(...inPieces(line)),
  ),
  {
    rule: "FRM-1",
    title: "Many lines that come in one piece are as many events",
    bytes: true,
    kinds,
    needs: "handshake",
    fix: "after one line look for the next in what was read already",
    run: manyAtOnce,
  },
  reads(
    {
      rule: "FRM-1",
      title: "A 0x0D before the 0x0A is dropped",
      bytes: true,
      fix: "strip one trailing \\r from a line",
    },
    (peer, line) => peer.write(line.replace(/\n$/, "\r\n")),
  ),
  reads(
    {
      rule: "FRM-3",
      title: "U+2028 and U+2029, raw within a line, are text and not its end",
      bytes: true,
      fix: BINARY,
    },
    (peer, _line, event) => peer.write(`${JSON.stringify({ ...event, note: "one\u2028two\u2029three\u0085four" })}\n`),
  ),
  reads(
    {
      rule: "FRM-4",
      title: "Empty and blank lines are ignored",
      bytes: true,
      fix: "skip a line without anything but spaces and tabs",
    },
    (peer, line) => peer.write(`\n \t\n\r\n${line}\n`),
  ),
  {
    rule: "FRM-2",
    title: "A last line without its 0x0A counts when the stream ends",
    over: "stdio",
    kinds,
    needs: "pong",
    fix: "when stdin ends, read what is left over as a line, answer, then exit",
    run: async (stage) => {
      const peer = await stage.attach();
      const question = await stage.question(peer);
      await peer.write(encode(question.event).trimEnd());
      peer.process.endInput();
      await stage.answer(peer, question, stage.questionMs());
    },
  },
  reads(
    {
      rule: "ENV-7",
      title: "Fields it does not know, _meta among them, are ignored",
      fix: "take the fields you know, and leave the rest",
    },
    (peer, _line, event) =>
      peer.send({
        ...event,
        a_later_field: { list: [1, null] },
        _meta: { traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "com.example/x": 1 },
      }),
  ),
  reads({ rule: "FRM-6", title: "An event that nests 64 deep is taken" }, (peer, _line, event) =>
    peer.send({ ...event, deep: nested(62) }),
  ),
  reads({ rule: "FRM-6", title: "An event with 10,000 values is taken" }, (peer, _line, event) =>
    peer.send({ ...event, many: Array.from({ length: 9_900 }, (_, index) => index) }),
  ),
  reads(
    {
      rule: "FRM-5",
      title: "A line of 1 MiB is taken",
      fix: LONG,
    },
    (peer, _line, event) => peer.send(padded(event, MIB)),
  ),
  reads({ rule: "FRM-5", title: "A line of 16 MiB is taken", level: "SHOULD", fix: LONG }, (peer, _line, event) =>
    peer.send(padded(event, 16 * MIB)),
  ),
];

async function manyAtOnce(stage: Stage): Promise<void> {
  const peer = await stage.attach();
  const question = await stage.question(peer);
  const scope = stage.scope(peer);
  const typing = (): string => encode({ event_type: "com.example/typing", scope, who: newId("k") });
  const others = Array.from({ length: 100 }, typing).join("");
  const next = await stage.question(peer);
  await peer.write(`${others}${encode(question.event)}${typing()}${encode(next.event)}`);
  await stage.answer(peer, question, stage.questionMs());
  await stage.answer(peer, next, stage.questionMs());
}

/** Cut at a byte of each size of character, and once more between. */
function inPieces(line: string): Uint8Array[] {
  const bytes = Buffer.from(line);
  const cuts = ["ä", "日", "\u{1F600}"].map((character) => bytes.indexOf(character) + 1);
  return [0, 10, ...cuts].map((from, index, all) => bytes.subarray(from, all[index + 1]));
}

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level++) value = level % 2 === 0 ? [value] : { in: value };
  return value;
}

/** As a line of this many bytes, without its newline. */
function padded(event: Event, bytes: number): Event {
  const around = Buffer.byteLength(encode({ ...event, pad: "" })) - 1;
  return { ...event, pad: "x".repeat(Math.max(0, bytes - around)) };
}
