import assert from "node:assert/strict";
import { suite, test } from "node:test";
import fc from "fast-check";
import { accept, decode, encode, standard, wide, type Event } from "../../src/wire/index.ts";
import { anyEvent } from "./events.ts";
import { decodeOrCode } from "./lines.ts";

const line = (event: Event): Buffer => Buffer.from(encode(event).trimEnd());

suite("encode and decode", () => {
  test("give every event back as it was, in one line that no reader cuts (FRM-3)", () => {
    fc.assert(
      fc.property(anyEvent, (event) => {
        const encoded = encode(event);
        assert.match(encoded, /^[^\n\r\u2028\u2029]*\n$/);
        assert.deepEqual(decode(line(event)), event);
        assert.equal(encode(decode(line(event))), encoded);
      }),
    );
  });

  test("make of any bytes an event or a BytebotError, nothing else", () => {
    const almost = fc.tuple(anyEvent, fc.nat(), fc.uint8Array({ maxLength: 4 })).map(([event, at, bytes]) => {
      const whole = line(event);
      return Buffer.concat([
        whole.subarray(0, at % whole.length),
        bytes,
        whole.subarray((at % whole.length) + bytes.length),
      ]);
    });
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array(), almost), (bytes) => {
        const event = decodeOrCode(bytes);
        if (typeof event !== "string") assert.deepEqual(decodeOrCode(line(event)), event);
      }),
    );
  });

  test("pass in-proc what passes as a line, as the same event (FRM-10)", () => {
    fc.assert(fc.property(anyEvent, (event) => assert.deepEqual(accept(structuredClone(event)), decode(line(event)))));
  });
});

suite("a line that is no event is refused by its code", () => {
  const cases: [what: string, code: string, line: string | Uint8Array][] = [
    ["text", "parse_error", "Loading model…"],
    ["half an object", "parse_error", '{"event_type":"a"'],
    ["two objects", "parse_error", '{"event_type":"a"}{"event_type":"b"}'],
    ["NaN", "parse_error", '{"event_type":"a","n":NaN}'],
    ["Infinity", "parse_error", '{"event_type":"a","n":-Infinity}'],
    ["a comma too many", "parse_error", '{"event_type":"a",}'],
    ["single quotes", "parse_error", "{'event_type':'a'}"],
    ["a raw tab in a string", "parse_error", '{"event_type":"a\t"}'],
    ["a byte order mark", "parse_error", '\ufeff{"event_type":"a"}'],
    ["a cut character", "parse_error", Buffer.from('{"event_type":"€"}').subarray(0, -3)],
    ["bytes that are not UTF-8", "parse_error", Buffer.from([0x22, 0xff, 0xfe, 0x22])],
    ["an overlong encoding", "parse_error", Buffer.from([0x22, 0xc0, 0xaf, 0x22])],
    ["a surrogate in UTF-8", "parse_error", Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])],
    ["an array", "invalid_event", '[{"event_type":"a"}]'],
    ["null", "invalid_event", "null"],
    ["a number", "invalid_event", "7"],
    ["no event_type", "invalid_event", '{"type":"a"}'],
    ["an empty event_type", "invalid_event", '{"event_type":""}'],
    ["an event_type that is no text", "invalid_event", '{"event_type":7}'],
  ];
  for (const [what, code, bytes] of cases) test(`${what}: ${code}`, () => assert.equal(decodeOrCode(bytes), code));

  test("a line over the limit in force is too_large, and the wider limit takes it (FRM-5)", () => {
    const event = { event_type: "a", text: "x".repeat(standard.line_bytes) };
    assert.equal(decodeOrCode(encode(event)), "too_large");
    assert.deepEqual(decodeOrCode(encode(event).trimEnd(), wide), event);
  });
});
