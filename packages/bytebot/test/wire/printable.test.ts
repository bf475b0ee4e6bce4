import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { printable, printableExactly, toReport } from "../../src/wire/index.ts";

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

const unseen = [
  "\u00ad",
  "\u200b",
  "\u2060",
  "\u2063",
  "\ufeff",
  "\u2028",
  "\u2029",
  "\u180e",
  "\u{e0041}",
  "\u{1d173}",
];
/** As JSON has it, and not by the code under test. */
const escaped = (text: string) =>
  Array.from({ length: text.length }, (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, "0")}`).join("");

test("what has no shape is written out, so that no text hides in another", () => {
  for (const hidden of unseen) {
    assert.equal(printable(`rm${hidden} x`), `rm${escaped(hidden)} x`);
    assert.equal(printableExactly(`rm${hidden} x`), `rm${escaped(hidden)} x`);
  }
  assert.equal(printable(JSON.stringify("\u{e0041}")), '"\\udb40\\udc41"');
});

test("text is shown as it is: joined emoji, variants of them, letters of every script", () => {
  for (const text of ["a\tb\n日本語", "👩‍👩‍👧 ❤️ 👍🏽", "می‌خواهم", "é\u0301", "\u06dd١", "a\u00a0b", "\u3164"])
    assert.equal(printable(text), text);
});

test("in what is to be decided about, nothing is there that cannot be seen, nor a space that is none", () => {
  const left = "❤ rm -rf 日本語\n\té ñ";
  assert.equal(printableExactly(left), left);
  for (const hidden of [
    "\u200d",
    "\u200c",
    "\ufe0f",
    "\u{e0100}",
    "\u034f",
    "\u3164",
    "\u115f",
    "\u00a0",
    "\u2003",
    "\u3000",
    "\u2800",
  ])
    assert.equal(printableExactly(`a${hidden}b`), `a${escaped(hidden)}b`);
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      const shown = printableExactly(JSON.stringify(text));
      assert.doesNotMatch(shown, /[\p{C}\p{DI}]/u);
      assert.doesNotMatch(shown.replaceAll(" ", ""), /\s/);
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
