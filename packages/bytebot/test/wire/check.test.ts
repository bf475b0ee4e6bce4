import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { accept, standard, wide, type Event, type LineLimits } from "../../src/wire/index.ts";
import { decodeOrCode } from "./lines.ts";

const acceptOrCode = (event: unknown, limits: LineLimits = standard): unknown => {
  try {
    return accept(event, limits);
  } catch (error) {
    return (error as { code: string }).code;
  }
};
const nested = (depth: number): unknown => (depth === 0 ? 0 : [nested(depth - 1)]);

suite("what is not carried, as a line or in-proc (FRM-6 to FRM-8)", () => {
  const cases: [what: string, code: string, json: string][] = [
    ["__proto__ as a key", "invalid_event", '{"event_type":"a","__proto__":{"admin":true}}'],
    ["__proto__ deep inside", "invalid_event", '{"event_type":"a","x":[{"y":{"__proto__":1}}]}'],
    ["__proto__ in an escape", "invalid_event", '{"event_type":"a","x":{"\\u005f_proto__":1}}'],
    ["constructor as a key", "invalid_event", '{"event_type":"a","x":{"constructor":{"prototype":{}}}}'],
    ["prototype as a key", "invalid_event", '{"event_type":"a","prototype":1}'],
    ["1e400", "invalid_event", '{"event_type":"a","n":1e400}'],
    ["-1e400", "invalid_event", '{"event_type":"a","list":[-1e400]}'],
    ["2^53", "invalid_event", '{"event_type":"a","n":9007199254740992}'],
    ["2^53+1", "invalid_event", '{"event_type":"a","n":9007199254740993}'],
    ["-2^53", "invalid_event", '{"event_type":"a","n":-9007199254740992}'],
    ["a NUL in an id", "invalid_event", '{"event_type":"a","id":"a\\u0000"}'],
    ["half a character in a scope", "invalid_event", '{"event_type":"a","scope":"\\ud83d"}'],
    ["half a character in the type", "invalid_event", '{"event_type":"\\ud83d"}'],
    ["nesting 65 deep", "too_large", JSON.stringify({ event_type: "a", x: nested(64) })],
    ["more than 10,000 values", "too_large", JSON.stringify({ event_type: "a", x: Array(10_001).fill(0) })],
  ];
  for (const [what, code, json] of cases) {
    test(`${what}: ${code}`, () => {
      assert.deepEqual([decodeOrCode(json), acceptOrCode(JSON.parse(json))], [code, code]);
    });
  }
});

suite("what is carried, as a line or in-proc", () => {
  const cases: [what: string, json: string][] = [
    ["2^53-1 and its negative", '{"event_type":"a","n":9007199254740991,"m":-9007199254740991}'],
    ["fractions", '{"event_type":"a","n":0.1,"m":5e-324}'],
    ["nesting 64 deep", JSON.stringify({ event_type: "a", x: nested(63) })],
    ["9,900 values", JSON.stringify({ event_type: "a", x: Array(9900).fill(0) })],
    ["a NUL in text", '{"event_type":"a","text":"\\u0000"}'],
    ["brackets and quotes inside text", JSON.stringify({ event_type: "a", text: '[{"\\'.repeat(20_000) })],
    ["keys that only look dangerous", '{"event_type":"a","toString":1,"__proto":2,"hasOwnProperty":3,"":4}'],
    ["fields nobody knows", '{"event_type":"org.example/new","later":{"a":[1]}}'],
  ];
  for (const [what, json] of cases) {
    test(what, () => {
      const event = JSON.parse(json) as Event;
      assert.deepEqual([decodeOrCode(json), acceptOrCode(JSON.parse(json))], [event, event]);
    });
  }

  test("half a character in text, repaired (FRM-8)", () => {
    const json = '{"event_type":"a","text":"x\\ud83d","list":["\\udc00"]}';
    const repaired = { event_type: "a", text: "x\ufffd", list: ["\ufffd"] };
    assert.deepEqual([decodeOrCode(json), acceptOrCode(JSON.parse(json))], [repaired, repaired]);
  });

  test("half a character in a key is refused: a repaired key is another key (FRM-8)", () => {
    const json = '{"event_type":"a","input":{"x\\ud83d":1}}';
    assert.deepEqual([decodeOrCode(json), acceptOrCode(JSON.parse(json))], ["invalid_event", "invalid_event"]);
  });

  test("a million values, for those that carry transcripts", () => {
    const json = JSON.stringify({ event_type: "a", x: Array(999_000).fill(0) });
    assert.equal((decodeOrCode(json, wide) as Event).event_type, "a");
    assert.equal(decodeOrCode(json, { ...wide, values: 900_000 }), "too_large");
  });
});

suite("what only looks like JSON in-proc is refused, named (FRM-10)", () => {
  class Point {
    x = 1;
  }
  const holes: unknown[] = Object.assign([], { 0: 1, 2: 3 });
  const ring: Record<string, unknown> = {};
  ring["self"] = ring;
  const cases: [what: string, value: unknown][] = [
    ["undefined", undefined],
    ["a function", () => 1],
    ["a symbol", Symbol("x")],
    ["a bigint", 1n],
    ["NaN", Number.NaN],
    ["Infinity", Number.POSITIVE_INFINITY],
    ["a Date", new Date(0)],
    ["a Map", new Map()],
    ["bytes", Buffer.from("x")],
    ["a class instance", new Point()],
    ["a list with a hole", holes],
    ["a symbol key", { [Symbol("x")]: 1 }],
    ["an object of another prototype", Object.create({ inherited: 1 })],
  ];
  for (const [what, value] of cases) {
    test(what, () => {
      assert.throws(() => accept({ event_type: "a", field: value }), { code: "invalid_event", message: /"field"/ });
    });
  }

  test("a ring", () => assert.throws(() => accept({ event_type: "a", ring }), { code: "too_large" }));

  test("what is accepted is frozen all through, so that no reader changes what another reads", () => {
    const event = accept({ event_type: "a", x: { y: [{ z: 1 }] } }) as unknown as { x: { y: { z: number }[] } };
    assert.throws(() => (event.x.y[0]!.z = 2), TypeError);
    assert.throws(() => event.x.y.push({ z: 3 }), TypeError);
    assert.equal(accept(event), event);
  });

  test("an object that its sender froze is checked all the same", () => {
    assert.throws(() => accept(Object.freeze({ event_type: "a", x: Object.freeze({ y: undefined }) })), {
      code: "invalid_event",
    });
  });
});
