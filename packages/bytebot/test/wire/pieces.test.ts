import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Pieces } from "../../src/wire/index.ts";
import { memory } from "../spec/held.ts";

test("pieces are the text that they add up to, whenever it is read", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ maxLength: 3 }), { maxLength: 5000, size: "max" }), fc.nat(5000), (all, at) => {
      const pieces = new Pieces();
      for (const [index, piece] of all.entries()) {
        if (index === at) assert.equal(pieces.text, all.slice(0, at).join(""));
        pieces.add(piece);
      }
      assert.equal(pieces.text, all.join(""));
    }),
    { numRuns: 100 },
  );
});

test("four million pieces of one character take about four million bytes (hard case 16)", () => {
  const pieces = new Pieces();
  const before = memory();
  for (let n = 0; n < 4_000_000; n++) pieces.add("a");
  assert.ok(memory() - before < 20_000_000);
  assert.equal(pieces.text.length, 4_000_000);
});
