import assert from "node:assert/strict";
import { test } from "node:test";
import { read, rules, text } from "./spec.ts";

const ID = /\b[A-Z]{3}-\d+(?: to [A-Z]{3}-\d+)?/g;
/** They look like the id of a rule. */
const ENCODINGS = /^(?:UTF|SHA)-/;

const tests = read("packages/*/test/**/*.ts", "satellites/*/test/**/*.ts", "examples/**/*.ts").flatMap(
  ({ file, source }) =>
    Array.from(source.matchAll(/\b(?:test|suite)\(\s*(["'`])(.*?)(?<!\\)\1/gs), ([, , name]) => ({
      file,
      cited: idsIn(name!),
    })),
);

test("every rule of the spec has a number of its own, rising within its family", () => {
  const last = new Map<string, number>();
  for (const id of rules) {
    const [family, number] = id.split("-") as [string, string];
    assert.ok(Number(number) > (last.get(family) ?? 0), `${id} comes after ${family}-${last.get(family)}`);
    last.set(family, Number(number));
  }
  assert.ok(rules.length > 80, `the rules are found: ${rules.length}`);
});

test("every rule of the spec is proved by a test that names it", () => {
  const cited = new Set(tests.flatMap((each) => each.cited));
  const missing = rules.filter((id) => !cited.has(id));
  assert.deepEqual(missing, [], "add the id to the name of the test that proves the rule, or write that test");
});

test("every id that code, a test's name or the spec itself cites is a rule of the spec", () => {
  const sources = read("packages/*/src/**/*.ts", "satellites/*/src/**/*.{ts,tsx}");
  const cited = [
    ...sources.map(({ file, source }) => ({ file, cited: idsIn(source) })),
    { file: "spec/WIRE.md", cited: idsIn(text) },
    ...tests,
  ];
  const unknown = cited.flatMap(({ file, cited: ids }) =>
    ids.filter((id) => !rules.includes(id)).map((id) => `${id} in ${file}`),
  );
  assert.deepEqual(unknown, [], "write the rule, or correct the id");
  assert.ok(cited.flatMap(({ cited: ids }) => ids).length > 200, "what cites is found");
});

/** The ids in a text; "FRM-1 to FRM-4" is four of them. */
function idsIn(source: string): string[] {
  return Array.from(source.matchAll(ID), ([match]) => match)
    .filter((match) => !ENCODINGS.test(match))
    .flatMap((match) => {
      const [first = "", last = first] = match.split(" to ");
      const family = first.slice(0, 4);
      const [from, to] = [Number(first.slice(4)), Number(last.slice(4))];
      return Array.from({ length: to - from + 1 }, (_, index) => `${family}${from + index}`);
    });
}
