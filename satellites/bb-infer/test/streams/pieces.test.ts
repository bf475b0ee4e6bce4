import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { CandidateEnd } from "../../src/remote/candidate-end.ts";
import { EndMark, type Format as Name } from "../../src/remote/end-mark.ts";
import { Frames } from "../../src/remote/frames.ts";
import { NamePieces } from "../../src/remote/name-pieces.ts";
import { chunk } from "../formats/chat.ts";
import { answer, call, compatible, converse, messages, responses, say, stop, whole } from "../formats/index.ts";

/** A text cut at these places, wherever they fall. */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const at = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b);
  return [...at, bytes.length].map((end, index) => bytes.subarray(index === 0 ? 0 : at[index - 1], end));
}

const places = fc.array(fc.nat(), { maxLength: 40 });
const text = fc.string({ unit: "binary", maxLength: 3000 });

test("frames come out whole and unchanged, however their bytes are cut", () => {
  fc.assert(
    fc.property(fc.array(text, { minLength: 1, maxLength: 20 }), places, (texts, cuts) => {
      const bytes = Buffer.concat(answer(converse, ...texts));
      const frames = new Frames();
      const out = cut(bytes, cuts).flatMap((part) => frames.take(part) ?? assert.fail("refused"));
      assert.equal(frames.rest().length, 0);
      assert.ok(Buffer.concat(out).equals(bytes));
      // Each piece is whole frames: their lengths add up to its own.
      for (const piece of out) {
        let at = 0;
        while (at < piece.length) at += Buffer.from(piece).readUInt32BE(at);
        assert.equal(at, piece.length);
      }
    }),
  );
});

const pieces = fc.array(
  fc.record({
    index: fc.constantFrom(0, 1, undefined),
    id: fc.constantFrom("a", "b", "", null, undefined),
    function: fc.record(
      {
        name: fc.constantFrom("add", "ad", "d", "a", "now", "", null),
        arguments: fc.constantFrom("", "{", '"x":1}', null),
      },
      { requiredKeys: [] },
    ),
  }),
  { maxLength: 8 },
);

test("names are put together in the same way, however the bytes are cut, and all else passes as it came", () => {
  fc.assert(
    fc.property(text, pieces, places, (said, calls, cuts) => {
      const frames = [...compatible.events(say(said)), ...calls.map((one) => chunk({ tool_calls: [one] }))];
      const bytes = Buffer.concat([...frames, chunk({}, { finish_reason: "tool_calls" }), compatible.end]);
      const read = (parts: readonly Buffer[]) => {
        const names = new NamePieces(["add", "add_all", "now"]);
        return Buffer.concat([...parts.map((part) => names.take(part)), names.rest()]).toString();
      };
      const out = read([bytes]);
      assert.equal(read(cut(bytes, cuts)), out);
      assert.ok(out.startsWith(Buffer.concat(compatible.events(say(said))).toString()));
      // Not a piece of the arguments is lost or moved.
      const args = (stream: string) =>
        [...stream.matchAll(/"arguments":("(?:[^"\\]|\\.)*")/g)].map(([, json]) => JSON.parse(json!) as string);
      assert.equal(args(out).join(""), args(bytes.toString()).join(""));
    }),
  );
});

test("the end of a stream is found at the same byte, however it is cut", () => {
  fc.assert(
    fc.property(text, places, fc.constantFrom(compatible, messages, responses), (said, cuts, format) => {
      const name = ({ [compatible.name]: "chat", [messages.name]: "messages" }[format.name] ?? "responses") as Name;
      const reply = Buffer.concat(
        whole(format, say(said), call("add", "a", JSON.stringify({ said })), stop("end_turn")),
      );
      const bytes = Buffer.concat([reply, ...format.events(say("more"))]);
      const mark = new EndMark(name);
      let size = 0;
      for (const part of cut(bytes, cuts)) if (!mark.ended) size += mark.take(part);
      assert.deepEqual([mark.ended, size], [true, reply.length]);
    }),
  );
});

const reason = fc.constantFrom("STOP", "MAX_TOKENS", "", "FINISH_REASON_UNSPECIFIED", undefined, null, "finishReason");
const model = fc.dictionary(fc.constantFrom("finishReason", "candidates", 'a"\\', "{[", "}]"), fc.jsonValue());
const candidate = fc.tuple(reason, model, text, fc.boolean()).map(([finishReason, args, words, isFirst]) => {
  const content = { parts: [{ text: words }, { functionCall: { name: "add", args } }] };
  return isFirst ? { finishReason, content, index: 0 } : { content, index: 0, finishReason };
});

test("a candidate's own reason to stop is found, however it is written and cut, and no other", () => {
  fc.assert(
    fc.property(fc.array(candidate, { maxLength: 4 }), fc.nat(2), places, (candidates, indent, cuts) => {
      const events = candidates.map((one) => {
        const json = JSON.stringify({ candidates: [one], usageMetadata: { finishReason: "STOP" } }, undefined, indent);
        return `${json.replaceAll(/^/gm, "data: ")}\r\n\r\n`;
      });
      const end = new CandidateEnd();
      const found = cut(Buffer.from(events.join("")), cuts).map((part) => end.take(part));
      const says = ["STOP", "MAX_TOKENS", "finishReason"];
      assert.equal(
        found.includes(true),
        candidates.some(({ finishReason }) => says.includes(finishReason ?? "")),
      );
    }),
  );
});
