import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { jsonErrorAt } from "../../src/resolve/jsontext.ts";

test("the place of the error is the first token that does not fit", () => {
  const places: [text: string, at: number][] = [
    ["", 0],
    ["{", 1],
    ['{"a" 1}', 5],
    ['{"a": x}', 6],
    ['{"a": 1,}', 8],
    ["[1,]", 3],
    ["[1 2]", 3],
    ["[1}", 2],
    ["{} x", 3],
    ['["a\nb"]', 1],
    ['["\\q"]', 1],
    ["[01]", 1],
    ["[tru]", 1],
    ["{'a': 1}", 1],
    ["[1, // one\n2]", 4],
  ];
  for (const [text, at] of places) assert.equal(jsonErrorAt(text), at, text);
});

test("JSON has no error, however it is laid out", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(0, 2), (value, indent) => {
      const text = JSON.stringify(value, null, indent);
      assert.equal(jsonErrorAt(text), text.length);
    }),
  );
});

test("damaged JSON is blamed where it was damaged or later, never before", () => {
  const damage = fc.tuple(fc.jsonValue(), fc.nat(), fc.constantFrom("}", "]", ",", ":", '"', "x", "1", "\\", "-"));
  fc.assert(
    fc.property(damage, ([value, where, char]) => {
      const whole = JSON.stringify(value);
      const cut = where % (whole.length + 1);
      const text = whole.slice(0, cut) + char + whole.slice(cut);
      const at = jsonErrorAt(text);
      if (isJson(text)) assert.equal(at, text.length);
      if (at < text.length) assert.ok(at >= cut - tokenLength(whole, cut), `${text} at ${at}, damaged at ${cut}`);
    }),
  );
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** How far back the token that `cut` falls into may have begun. */
function tokenLength(text: string, cut: number): number {
  const tokens = text.matchAll(/"(?:[^"\\]|\\.)*"|[\w.+-]+|./gs);
  for (const token of tokens) {
    if (token.index + token[0].length >= cut) return cut - token.index;
  }
  return 0;
}
