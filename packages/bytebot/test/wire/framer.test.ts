import assert from "node:assert/strict";
import { suite, test } from "node:test";
import fc from "fast-check";
import { encode, Framer, type LineLimits } from "../../src/wire/index.ts";
import { anyEvent } from "./events.ts";
import { cut, read } from "./lines.ts";

const offsets = fc.array(fc.nat(), { maxLength: 40 });
const small: LineLimits = { line_bytes: 200, values: 10_000, depth: 64 };

suite("the framer", () => {
  test("gives the same events, however the stream is cut (FRM-1)", () => {
    fc.assert(
      fc.property(fc.array(anyEvent, { maxLength: 8 }), offsets, (events, at) => {
        assert.deepEqual(read(cut(Buffer.from(events.map(encode).join("")), at)), events);
      }),
    );
  });

  test("gives the same events, cut at every single offset, and byte by byte (FRM-1)", () => {
    const stream = Buffer.from('{"event_type":"a","text":"ñ€😀\u2028"}\r\n\n{"event_type":"b"}\n{"event_type":"c"}');
    const events = [{ event_type: "a", text: "ñ€😀\u2028" }, { event_type: "b" }, { event_type: "c" }];
    for (let at = 0; at <= stream.length; at++) assert.deepEqual(read(cut(stream, [at])), events, `cut at ${at}`);
    assert.deepEqual(read(Array.from(stream, (byte) => Uint8Array.of(byte))), events);
  });

  test("skips what is over the limit, with its size, and nothing else, however the stream is cut (FRM-5)", () => {
    const line = fc.record({ length: fc.nat(600), newline: fc.constantFrom("\n", "\r\n") });
    fc.assert(
      fc.property(fc.array(line, { maxLength: 8 }), offsets, (lines, at) => {
        const frame = '{"event_type":"a","text":""}'.length;
        const stream = lines
          .map(({ length, newline }) => `{"event_type":"a","text":"${"x".repeat(length)}"}${newline}`)
          .join("");
        const heard = read(cut(Buffer.from(stream), at), small).map((each) =>
          typeof each === "string" ? each : (each["text"] as string).length,
        );
        const expected = lines.map(({ length, newline }) =>
          frame + length > small.line_bytes ? `too_large ${frame + length + newline.length - 1}` : length,
        );
        assert.deepEqual(heard, expected);
      }),
    );
  });

  test("takes a line of the limit exactly, with either newline or none, and refuses one byte more (FRM-5)", () => {
    const text = "x".repeat(small.line_bytes - '{"event_type":"a","text":""}'.length);
    const full = `{"event_type":"a","text":"${text}"}`;
    const over = `{"event_type":"a","text":"${text}x"}`;
    const event = { event_type: "a", text };
    assert.deepEqual(read([Buffer.from(`${full}\n${full}\r\n${full}`)], small), [event, event, event]);
    assert.deepEqual(read([Buffer.from(`${over}\n${over}\r\n${over}`)], small), [
      "too_large 201",
      "too_large 202",
      "too_large 201",
    ]);
  });

  test("refuses what is not UTF-8 or begins with a byte order mark, and that line alone, however the stream is cut (FRM-1)", () => {
    const lines = [
      '{"event_type":"a"}\n',
      '{"event_type":"\xff"}\n',
      '\xef\xbb\xbf{"event_type":"b"}\n',
      '{"event_type":"c"}\n',
    ];
    const stream = Buffer.from(lines.join(""), "latin1");
    const whole = read([stream]);
    assert.deepEqual([whole[0], whole[3]], [{ event_type: "a" }, { event_type: "c" }]);
    assert.deepEqual([whole[1], whole[2]], ["parse_error", "parse_error"]);
    for (let at = 0; at <= stream.length; at++) assert.deepEqual(read(cut(stream, [at])), whole, `cut at ${at}`);
    const bom = Buffer.from(lines[2]!, "latin1");
    assert.deepEqual(read([bom]), [whole[2]], "at the beginning of a chunk, too");
  });

  test("holds no more of a line than the limit, however long it is (FRM-5)", () => {
    const sizes: number[] = [];
    const sink = { line: () => assert.fail("no line"), tooLong: (size: number) => void sizes.push(size) };
    const framer = new Framer(1000);
    const part = new Uint8Array(1024 * 1024).fill(0x61);
    const before = process.memoryUsage().arrayBuffers;
    for (let n = 0; n < 64; n++) framer.push(part, sink);
    const held = process.memoryUsage().arrayBuffers - before;
    framer.push(Uint8Array.of(0x0a), sink);
    assert.deepEqual(sizes, [64 * part.length]);
    assert.ok(held < 16 * part.length, `${held} bytes are held`);
  });

  test("keeps what it was given, though the reader fills its buffer again", () => {
    const heard: string[] = [];
    const sink = { line: (bytes: Uint8Array) => void heard.push(Buffer.from(bytes).toString()), tooLong() {} };
    const framer = new Framer(100);
    const buffer = Buffer.from("first h");
    framer.push(buffer, sink);
    buffer.write("alf\nxxx");
    framer.push(buffer.subarray(0, 4), sink);
    assert.deepEqual(heard, ["first half"]);
  });

  test("ignores blank lines and gives nothing for an empty stream (FRM-4)", () => {
    assert.deepEqual(read([Buffer.from("\n\r\n  \n\t\r\n \t ")]), []);
    assert.deepEqual(read([]), []);
  });

  test("drops one 0x0D before the newline and leaves those inside the line (FRM-1)", () => {
    assert.deepEqual(read([Buffer.from('{"event_type":\r"a"}\r\n')]), [{ event_type: "a" }]);
    assert.deepEqual(read([Buffer.from('{"event_type":"a"}\r\r\n')]), [{ event_type: "a" }]);
  });
});
