import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import fc from "fast-check";
import { getLlama, LlamaGrammar, LlamaLogLevel, type Llama } from "node-llama-cpp";
import { toGbnf } from "../src/embedded/schema.ts";

let llama: Llama;
before(async () => (llama = await getLlama({ gpu: false, build: "never", logLevel: LlamaLogLevel.disabled })));
after(() => llama.dispose());

/** Whether llama.cpp would let a model write this text. */
function fits(schema: Record<string, unknown>, text: string): boolean {
  return matches(toGbnf(schema), text);
}

/** What llama.cpp itself says; the library has it, and does not document it. */
function matches(grammar: string, text: string): boolean {
  return (new LlamaGrammar(llama, { grammar }) as unknown as { _testText(text: string): boolean })._testText(text);
}
const allows = (schema: Record<string, unknown>, value: unknown) => fits(schema, JSON.stringify(value));

/** A schema and a value that fits it, built together. */
type Pair = [Record<string, unknown>, fc.Arbitrary<unknown>];
const pair = fc.letrec<{ any: Pair }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 3 },
    fc.constant<Pair>([{ type: "string" }, fc.string({ unit: "grapheme" })]),
    fc.constant<Pair>([{ type: "integer" }, fc.integer()]),
    fc.constant<Pair>([{ type: ["boolean", "null"] }, fc.constantFrom(true, null)]),
    fc
      .uniqueArray(fc.jsonValue({ maxDepth: 1 }), { minLength: 1, maxLength: 4 })
      .map((values) => [{ enum: values }, fc.constantFrom(...values)] as Pair),
    tie("any").map(([items, item]): Pair => [
      { type: "array", items, minItems: 1, maxItems: 3 },
      fc.array(item, { minLength: 1, maxLength: 3 }),
    ]),
    fc
      .uniqueArray(fc.tuple(fc.string({ maxLength: 6 }), fc.boolean(), tie("any")), {
        maxLength: 5,
        selector: ([key]) => key,
      })
      .filter((all) => all.every(([key]) => key !== "__proto__"))
      .map((all): Pair => [
        {
          type: "object",
          properties: Object.fromEntries(all.map(([key, , [schema]]) => [key, schema])),
          required: all.filter(([, must]) => must).map(([key]) => key),
          additionalProperties: false,
        },
        fc.record(Object.fromEntries(all.map(([key, , [, value]]) => [key, value])), {
          requiredKeys: all.filter(([, must]) => must).map(([key]) => key),
          noNullPrototype: true,
        }),
      ]),
  ),
}));

test("whatever fits a schema, any of its optional properties left out, a model may write", () => {
  const sample = pair.any.chain(([schema, value]) => value.map((one) => ({ schema, one })));
  fc.assert(
    fc.property(sample, ({ schema, one }) => {
      const text = JSON.stringify(one);
      fc.pre(!/\\u/.test(text)); // control characters are what the grammar leaves out
      // A number as a key comes first in an object, wherever the schema has it.
      fc.pre(!/"\d+":/.test(text));
      assert.ok(fits(schema, text), `${toGbnf(schema)}\n${text}`);
    }),
    { numRuns: 300 },
  );
});

test("what a schema does not allow a model cannot write", () => {
  const wall = {
    type: "object",
    properties: {
      colour: { enum: ["red", "blue"] },
      width: { type: "integer" },
      note: { type: "string", maxLength: 3 },
    },
    required: ["colour", "width"],
  };
  assert.ok(allows(wall, { colour: "red", width: 3, note: 'a"b' }));
  for (const wrong of [
    {},
    { colour: "red" },
    { colour: "green", width: 3 },
    { colour: "red", width: 3.5 },
    { colour: "red", width: "3" },
    { colour: "red", width: 3, note: "long" },
    { colour: "red", width: 3, more: 1 },
    [],
    "red",
  ]) {
    assert.ok(!allows(wall, wrong), JSON.stringify(wrong));
  }
  const list = { type: "array", items: { type: "number" }, minItems: 2, maxItems: 3 };
  assert.deepEqual(
    [[1], [1, 2.5], [1, 2, -3e5], [1, 2, 3, 4], [1, "2"]].map((each) => allows(list, each)),
    [false, true, true, false, false],
  );
});

test("a schema that holds itself is followed as deep as the value goes; choices that lead in a circle are left out", () => {
  const tree = {
    $ref: "#/$defs/node",
    $defs: {
      node: {
        type: "object",
        properties: { value: { type: "integer" }, left: { $ref: "#/$defs/node" }, right: { $ref: "#/$defs/node" } },
        required: ["value"],
      },
    },
  };
  assert.ok(allows(tree, { value: 1, left: { value: 2, right: { value: 3 } }, right: { value: 4 } }));
  assert.ok(!allows(tree, { value: 1, left: { right: { value: 3 } } }));
  const circle = { anyOf: [{ $ref: "#" }, { type: "object", properties: { next: { $ref: "#" } } }, { type: "null" }] };
  assert.ok(allows(circle, { next: { next: null } }));
  assert.ok(!allows(circle, { next: [] }));
});

test("allOf is all of the properties, a pointer may be escaped, and a list of types is a choice", () => {
  const whole = {
    allOf: [{ $ref: "#/$defs/a~1b" }, { type: "object", properties: { y: { type: "boolean" } }, required: ["y"] }],
    $defs: { "a/b": { type: "object", properties: { x: { type: ["integer", "null"] } }, required: ["x"] } },
  };
  assert.deepEqual(
    [{ x: 1, y: true }, { x: null, y: false }, { x: 1 }, { y: true }].map((each) => allows(whole, each)),
    [true, true, false, false],
  );
});

const nested = (wrap: (inner: unknown) => unknown) => {
  let schema: unknown = { type: "string" };
  for (let level = 0; level < 5_000; level += 1) schema = wrap(schema);
  return schema;
};
const names = Array.from({ length: 300 }, (_, n) => `d${n}`);

const hostile: [string, unknown][] = [
  [
    "twenty thousand properties",
    { type: "object", properties: Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`k${n}`, {}])) },
  ],
  ["five thousand levels", nested((inner) => ({ type: "object", properties: { a: inner } }))],
  ["choices of choices, three of each", nested((inner) => ({ anyOf: [inner, inner, inner] }))],
  ["all of all", nested((inner) => ({ allOf: [inner, inner] }))],
  [
    "a mesh of references",
    {
      properties: Object.fromEntries(names.map((name) => [name, { $ref: `#/$defs/${name}` }])),
      $defs: Object.fromEntries(names.map((name) => [name, { anyOf: names.map((to) => ({ $ref: `#/$defs/${to}` })) }])),
    },
  ],
  ["five megabytes of one value", { const: "x".repeat(5_000_000) }],
  ["a reference of a megabyte", { $ref: `#/${"a/".repeat(500_000)}` }],
];

for (const [what, schema] of hostile) {
  test(`a schema of hostile size asks for JSON, in a grammar of a few hundred bytes: ${what}`, () => {
    const grammar = toGbnf(schema as Record<string, unknown>);
    assert.ok(grammar.length < 1_000, `${grammar.length} characters`);
    assert.ok(matches(grammar, '{"a":[1,"x",null]}'));
  });
}

test("names that every object has are names like others", () => {
  const schema = JSON.parse(
    '{"type":"object","properties":{"__proto__":{"type":"integer"},"constructor":{"$ref":"#/toString"}},"required":["__proto__"]}',
  ) as Record<string, unknown>;
  assert.ok(fits(schema, '{"__proto__":1,"constructor":[2]}'));
  assert.ok(!fits(schema, '{"__proto__":"x"}'));
});
