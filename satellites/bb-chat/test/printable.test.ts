import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { graphemes, oneLine, printable, shown } from "../src/printable.ts";

const obeyed = ["\u001b", "\u0000", "\b", "\r", "\u007f", "\u0085", "\u009b", "\u009f", "\u061c", "\u200e", "\u200f"];
const bidi = ["\u202a", "\u202e", "\u2066", "\u2069"];
const hostile = fc
  .array(fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom(...obeyed, ...bidi, "\r\n", "\n", "\t")))
  .map((parts) => parts.join(""));

/** By code point, and not by the pattern under test: what joins letters and emoji is shown, and a few marks are. */
function isObeyed(code: number): boolean {
  const control = (code < 0x20 && code !== 0x0a && code !== 0x09) || (code >= 0x7f && code <= 0x9f);
  const marks = [0xad, 0x61c, 0x180e, 0x200b, 0x200e, 0x200f, 0xfeff].includes(code) || (code & 0xff_ff80) === 0xe_0000;
  return (
    control || marks || (code >= 0x2028 && code <= 0x202e) || (code >= 0x2060 && code <= 0x206f && code !== 0x2065)
  );
}

test("whatever the text, nothing a terminal would obey is left in it", () => {
  fc.assert(
    fc.property(hostile, (text) => {
      const left = Array.from(printable(text)).filter((character) => isObeyed(character.codePointAt(0)!));
      assert.deepEqual(left, []);
    }),
  );
});

test("text without such characters is shown as it is", () => {
  const harmless = fc
    .string({ unit: "grapheme" })
    .filter((text) => !Array.from(text).some((c) => isObeyed(c.codePointAt(0)!)));
  fc.assert(fc.property(harmless, (text) => assert.equal(printable(text), text)));
  assert.equal(printable("a\tb\nc 日本語 👩‍👩‍👧 é\u0301"), "a\tb\nc 日本語 👩‍👩‍👧 é\u0301");
});

test("what was escaped can still be read", () => {
  assert.equal(printable("\u001b[31mred\u001b[0m \u202eexe.txt"), "\\u001b[31mred\\u001b[0m \\u202eexe.txt");
  assert.equal(printable("over\rwrite\r\nnext"), "over\\u000dwrite\nnext");
});

test("a JSON line stays the same value", () => {
  fc.assert(fc.property(hostile, (text) => assert.equal(JSON.parse(printable(JSON.stringify(text))), text)));
});

test("a short line is one line, no longer than asked, and never cut inside a character", () => {
  fc.assert(
    fc.property(hostile, fc.integer({ min: 8, max: 60 }), (text, most) => {
      const line = oneLine(text, most);
      assert.ok(!line.includes("\n") && !line.includes("\t"));
      assert.ok([...graphemes.segment(line)].length <= most);
    }),
  );
  for (let most = 8; most < 30; most++) assert.match(oneLine("👩‍👩‍👧".repeat(40), most), /^(👩‍👩‍👧)+…$/);
  assert.equal(oneLine("a\n b\t c", 20), "a b c");
});

test("on the screen a tab is spaces, as its width could not be counted on", () => {
  assert.equal(shown("a\tb\n"), "a    b\n");
});
