import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { printable, toReport } from "../../src/wire/index.ts";

test("what a terminal would obey is written out, and a line of JSON stays the same value", () => {
  assert.equal(printable("\u001b]0;x\u0007 \u202egnp.\u009b2J"), "\\u001b]0;x\\u0007 \\u202egnp.\\u009b2J");
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      const shown = printable(JSON.stringify(text));
      assert.doesNotMatch(shown, /\p{Cc}|\p{Bidi_C}/u);
      assert.equal(JSON.parse(shown), text);
    }),
  );
});

test("a report is bounded, and no further line of it looks like a report of its own", () => {
  assert.equal(toReport("one\r\ntwo\n    at here\u2028x"), "one\n    two\n    at here\\u2028x");
  assert.ok(toReport("\ud83d\ude00".repeat(3000)).length < 4010);
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom("a", "\n", "\r", " ", "\u001b", "\t", "\u202e") }), (text) => {
      const told = toReport(text);
      assert.match(told, /^[^\n]*(\n {4}[^\n]*)*$/);
      assert.equal(toReport(told), told, "said twice, it is the same");
    }),
  );
});
