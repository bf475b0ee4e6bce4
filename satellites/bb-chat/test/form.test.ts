import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { newEditor, withText } from "../src/editor.ts";
import { fieldsOf, newEntry, read, readAll, type Entry } from "../src/form.ts";

const one = (schema?: Record<string, unknown>, options?: string[]) => {
  const [field, ...more] = fieldsOf({ schema, options });
  assert.ok(field);
  assert.deepEqual(more, []);
  return field;
};
const written = (text: string, schema?: Record<string, unknown>) => {
  const field = one(schema);
  return read(field, { ...newEntry(field), answer: withText(newEditor(), text) });
};

test("no option is chosen until the person chooses one, so that a stray Enter approves nothing", () => {
  for (const field of [one(undefined, ["once", "deny"]), one({ enum: ["once", "deny"] })]) {
    assert.ok("problem" in read(field, newEntry(field)));
    assert.deepEqual(read(field, { ...newEntry(field), choice: 1 }), { value: "deny" });
  }
});

test("an answer is text, a number, or JSON where the question's schema asks for it", () => {
  assert.deepEqual(written("42"), { value: "42" });
  assert.deepEqual(written(""), { value: "" });
  assert.deepEqual(written("42", { type: "string" }), { value: "42" });
  assert.deepEqual(written(" 42 ", { type: "integer" }), { value: 42 });
  assert.deepEqual(written("4.5e1", { type: "number" }), { value: 45 });
  for (const text of ["", "4.5", "many", "1e400", "9007199254740993"])
    assert.ok("problem" in written(text, { type: "integer" }), text);
  assert.deepEqual(written('{"a": [1]}', { type: "object" }), { value: { a: [1] } });
  assert.ok("problem" in written("not json", { type: "object" }));
});

test("what has few values is chosen from, with their titles, whatever way they are written down", () => {
  const labels = (schema: Record<string, unknown>) => one(schema).choices.map(({ label, value }) => [label, value]);
  assert.deepEqual(labels({ type: "boolean" }), [
    ["yes", true],
    ["no", false],
  ]);
  assert.deepEqual(labels({ type: "integer", enum: [1, 2] }), [
    ["1", 1],
    ["2", 2],
  ]);
  assert.deepEqual(labels({ oneOf: [{ const: "a", title: "the first" }, { const: null }] }), [
    ["the first", "a"],
    ["null", null],
  ]);
});

test("an object of too many properties, or of none, is written as JSON", () => {
  const properties = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`p${n}`, { type: "string" }]));
  assert.equal(fieldsOf({ schema: { type: "object", properties: properties(20) } }).length, 20);
  assert.equal(one({ type: "object", properties: properties(21) }).kind, "json");
  assert.equal(one({ type: "object", additionalProperties: { type: "string" } }).kind, "json");
  assert.equal(one({ enum: Array.from({ length: 1000 }, (_, n) => n) }).kind, "json");
});

test("what is left out is left out of the object, or is its default", () => {
  const properties = {
    a: { type: "string" },
    b: { type: "integer", default: 3 },
    c: { enum: ["x", "y"], default: "y" },
  };
  const fields = fieldsOf({ schema: { type: "object", properties, required: ["b"] } });
  assert.deepEqual(readAll(fields, fields.map(newEntry)), { value: { b: 3, c: "y" } });
});

test("whatever a schema is, it is asked for somehow", () => {
  const schema = fc.dictionary(
    fc.constantFrom("type", "enum", "const", "oneOf", "properties", "required", "default", "title", "description"),
    fc.oneof(fc.constantFrom("object", "string", "boolean", "integer"), fc.jsonValue()),
  );
  fc.assert(
    fc.property(
      fc.oneof(
        schema,
        schema.map((properties) => ({ type: "object", properties })),
      ),
      (schema) => {
        const fields = fieldsOf({ schema });
        assert.ok(fields.length > 0 && fields.length <= 20);
        const entries = fields.map((field): Entry => ({ ...newEntry(field), answer: withText(newEditor(), "1") }));
        const all = readAll(
          fields,
          entries.map((entry) => ({ ...entry, choice: 0 })),
        );
        assert.ok("value" in all || all.problem !== "");
      },
    ),
  );
});
