import assert from "node:assert/strict";
import { test } from "node:test";
import { examplesOf } from "../src/embedded/examples.ts";

const inputsOf = (description: string) =>
  examplesOf({ name: "t", description, input_schema: { type: "object" } }).map(({ input }) => input);

test("examples are read out of a description, objects in objects too, and the first six count", () => {
  const written = [
    `"Paint it \\"red\\"" = {"colour":"red","size":{"width":3}}`,
    `"And now?" -> {}`,
    `"So?" → {"a":"}"}`,
  ];
  assert.deepEqual(inputsOf(`Paints. Examples: ${written.join("; ")}`), [
    { colour: "red", size: { width: 3 } },
    {},
    { a: "}" },
  ]);
  assert.equal(inputsOf(`"Again?" = {"n":1}; `.repeat(20)).length, 6);
});

test("a description made to be read for ever is read at once", { timeout: 5_000 }, () => {
  const hostile = [
    `"a" = {${"}".repeat(100_000)}`,
    `"a" = {"b":`.repeat(6_000) + "}".repeat(6_000),
    `"${String.raw`\"`.repeat(100_000)}`,
    `"a" = {"b":"${"c".repeat(100_000)}`.repeat(4) + "}".repeat(1_000),
  ];
  for (const description of hostile) assert.deepEqual(inputsOf(description), [{}]);
});
