import assert from "node:assert/strict";
import { suite, test } from "node:test";
import fc from "fast-check";
import {
  accept,
  decode,
  encode,
  encodeWith,
  isSentDelta,
  isStampedDelta,
  mergeDeltas,
  schemas,
  standard,
  wide,
  type Event,
} from "../../src/wire/index.ts";
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

test("a delta that is checked and encoded by hand gives what the schema and JSON give (ENV-7, CHK-1)", () => {
  const text = fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom("\u2028", '"', "\\", "\n", ""));
  const name = fc.oneof(fc.stringMatching(/^[!-~]{1,12}$/), text);
  const count = fc.oneof(fc.nat(), fc.constantFrom(-1, 1.5, 2 ** 53));
  const fields = {
    event_type: fc.constant("infer_chunk"),
    kind: fc.constantFrom("block_delta", "block_stop"),
    index: count,
    block_type: fc.constantFrom("text", "thinking", "tool_use", "image"),
    delta: text,
  };
  const sent = fc.record({ ...fields, in_reply_to: name, extra: text }, { requiredKeys: ["event_type", "kind"] });
  const place = { scope: name, loop_id: name, round: count, attempt: count, n: count, ts: count };
  const stamped = fc.record({ ...fields, ...place, extra: text }, { requiredKeys: ["event_type", "kind"] });
  fc.assert(
    fc.property(sent, (event) => {
      if (isSentDelta(event)) assert.ok(schemas.infer_chunk.safeParse(event).success);
    }),
    { numRuns: 2000 },
  );
  fc.assert(
    fc.property(stamped, (event) => assert.deepEqual(JSON.parse(encode(event)), JSON.parse(JSON.stringify(event)))),
    { numRuns: 2000 },
  );
  const bare = {
    event_type: "infer_chunk",
    kind: "block_delta",
    index: 0,
    block_type: "text",
    delta: "hi",
    in_reply_to: "i_1",
  };
  assert.ok(isSentDelta(bare));
});

test("a key with a backslash is refused, and no other key is ever delivered as one (FRM-7)", () => {
  const salt = "some field before it";
  assert.equal(decodeOrCode(line({ event_type: "x", input: { [salt]: 1, "\\": 1 } })), "invalid_event");
  for (const key of ["\n", '"', "\n\n", "\u2028"]) {
    const sent = { event_type: "x", input: { [salt]: 1, [key]: 1 } };
    const heard = decodeOrCode(line(sent));
    // Where this Node's JSON.parse mistakes the key for the one above, it is refused; it never arrives as another.
    if (heard !== "invalid_event") assert.deepEqual(heard, sent);
  }
});

test("however deltas are merged, the text is whole, each is counted, and only neighbours in one block are joined (CHK-7)", () => {
  const block = { index: fc.nat(2), block_type: fc.constantFrom("text", "thinking"), round: fc.nat(1) };
  const run = fc.record({ ...block, texts: fc.array(fc.string(), { minLength: 1, maxLength: 6 }) });
  fc.assert(
    fc.property(fc.array(run, { maxLength: 6 }), fc.nat(3), (runs, gapAt) => {
      let n = 0;
      const deltas = runs.flatMap(({ texts, ...place }, at) => {
        if (at === gapAt) n++; // a block's start is no delta, and what comes after it is no neighbour
        return texts.map((delta) => {
          const ids = { scope: "u", loop_id: "l", attempt: 0, n: n++, ts: 1 };
          const event: Event = { event_type: "infer_chunk", kind: "block_delta", ...place, delta, ...ids };
          assert.ok(isStampedDelta(event));
          return event;
        });
      });
      const sent: typeof deltas = [];
      for (const delta of deltas) {
        const merged = sent.at(-1) && mergeDeltas(sent.at(-1)!, delta);
        if (merged) sent[sent.length - 1] = merged;
        else sent.push(delta);
      }
      const whole = (events: typeof deltas) => events.map((event) => event.delta).join("");
      assert.equal(whole(sent), whole(deltas));
      assert.equal(
        sent.reduce((sum, { merged = 1 }) => sum + merged, 0),
        deltas.length,
      );
      for (const { n: last, merged = 1, index, block_type, round } of sent) {
        const parts = deltas.filter((delta) => delta.n > last - merged && delta.n <= last);
        assert.equal(parts.length, merged);
        for (const part of parts)
          assert.deepEqual([part.index, part.block_type, part["round"]], [index, block_type, round]);
      }
      for (const event of sent) assert.doesNotThrow(() => schemas.infer_chunk.parse(decode(line(event))));
    }),
  );
  const huge = {
    event_type: "infer_chunk",
    kind: "block_delta",
    index: 0,
    block_type: "text",
    loop_id: "l",
    round: 0,
    attempt: 0,
    scope: "u",
    ts: 1,
  };
  const first = { ...huge, delta: "x".repeat(60_000), n: 0 } as Event;
  const next = { ...huge, delta: "x".repeat(10_000), n: 1 } as Event;
  assert.ok(isStampedDelta(first) && isStampedDelta(next));
  assert.equal(mergeDeltas(first, next), undefined, "a line stays small");
});

test("a line made of JSON and of fields that came later is the line of the whole event (FRM-3)", () => {
  const more = fc.dictionary(fc.constantFrom("seq", "cursor", "in_reply_to", "more\u2028"), fc.jsonValue());
  fc.assert(
    fc.property(anyEvent, more, (event, later) => {
      const before = Object.fromEntries(Object.entries(event).filter(([key]) => !(key in later)));
      const { event_type } = event;
      assert.equal(
        encodeWith(JSON.stringify({ event_type, ...before }), later),
        encode({ event_type, ...before, ...later }),
      );
    }),
  );
});
