import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { flatCheck } from "../../src/hub/tools/flat.ts";
import { apply, compile } from "../../src/hub/tools/schema.ts";

const name = fc.constantFrom("a", "b", "toString", "length", "");
const or = <T>(usual: T, odd: fc.Arbitrary<unknown> = fc.jsonValue({ maxDepth: 1 })) =>
  fc.oneof({ weight: 9, arbitrary: fc.constant<unknown>(usual) }, odd);
const type = fc.oneof(
  { weight: 9, arbitrary: fc.constantFrom<unknown>("string", "number", "integer", "boolean") },
  fc.constantFrom<unknown>("null", "array", "object", ["string", "null"], 1),
);
const field = fc.record(
  { type, description: fc.string(), minLength: fc.nat(2), enum: fc.constant(["x"]), minimum: fc.nat(3) },
  { requiredKeys: ["type"] },
);
const plainField = fc.record({ type, description: fc.string() }, { requiredKeys: ["type"] });
const schema = fc.record(
  {
    type: or("object"),
    properties: fc.dictionary(name, fc.oneof(plainField, field), { maxKeys: 3 }),
    required: fc.array(name, { maxLength: 2 }),
    additionalProperties: fc.constantFrom<unknown>(true, false, { type: "string" }),
    title: fc.string(),
    not: fc.constant({}),
    maxProperties: fc.nat(1),
  },
  { requiredKeys: ["type", "properties"] },
);
const plainSchema = fc.record(
  {
    type: fc.constant("object"),
    properties: fc.dictionary(name, fc.oneof(plainField, field), { maxKeys: 3 }),
    required: fc.array(name, { maxLength: 2 }),
    additionalProperties: fc.boolean(),
  },
  { requiredKeys: ["type"] },
);
const value = fc.oneof(
  fc.dictionary(name, fc.oneof(fc.string(), fc.integer(), fc.double({ noNaN: true }), fc.boolean(), fc.jsonValue())),
  fc.jsonValue({ maxDepth: 1 }),
);

test("arguments that are found to fit by hand fit their tool's schema (TOL-7)", () => {
  let fit = 0;
  fc.assert(
    fc.property(fc.oneof(schema, plainSchema), value, (written, sent) => {
      const check = flatCheck(written);
      if (!check?.(sent)) return;
      fit++;
      assert.deepEqual(apply(compile(JSON.stringify(written)), sent), { result: "fits" });
    }),
    { numRuns: 4000 },
  );
  assert.ok(fit > 200, `${fit} fitted by hand`);
});

test("what most tools take is checked by hand: fields of plain types, some of them required", () => {
  const check = flatCheck({
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    properties: { path: { type: "string", description: "Where" }, lines: { type: "integer", default: 10 } },
    required: ["path"],
    additionalProperties: false,
  });
  const fits = [{ path: "/a" }, { path: "", lines: 3 }].map((input) => check?.(input));
  const not = [{}, { path: 1 }, { path: "/a", lines: 1.5 }, { path: "/a", more: 1 }, [], null, "path"];
  assert.deepEqual(fits, [true, true]);
  assert.deepEqual(
    not.map((input) => check?.(input)),
    not.map(() => false),
  );
});
