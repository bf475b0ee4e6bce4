import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { evaluate } from "../src/arithmetic.ts";

/** An expression as text, and what it is worth: of each level, what binds as strongly or more. */
interface Sum {
  text: string;
  value: number;
}

const { sum } = fc.letrec<{ atom: Sum; signed: Sum; product: Sum; sum: Sum }>((tie) => ({
  atom: fc.oneof(
    { depthSize: "small" },
    fc.nat(999).map((value) => ({ text: String(value), value })),
    fc.double({ min: 0, max: 1e6, noNaN: true }).map((value) => ({ text: String(value), value })),
    fc
      .tuple(tie("sum"), fc.constantFrom("", " "))
      .map(([{ text, value }, gap]) => ({ text: `(${gap}${text})`, value })),
    tie("sum").map(({ text, value }) => ({ text: `abs(${text})`, value: Math.abs(value) })),
    fc
      .tuple(tie("sum"), tie("sum"))
      .map(([a, b]) => ({ text: `max(${a.text},${b.text})`, value: Math.max(a.value, b.value) })),
  ),
  signed: fc.oneof(
    { depthSize: "small" },
    tie("atom"),
    tie("signed").map(({ text, value }) => ({ text: `-${text}`, value: -value })),
    fc.tuple(tie("atom"), tie("signed")).map(([a, b]) => ({ text: `${a.text}^${b.text}`, value: a.value ** b.value })),
  ),
  product: fc.oneof(
    { depthSize: "small" },
    tie("signed"),
    fc
      .tuple(tie("product"), tie("signed"))
      .map(([a, b]) => ({ text: `${a.text}*${b.text}`, value: a.value * b.value })),
    fc
      .tuple(tie("product"), tie("signed"))
      .map(([a, b]) => ({ text: `${a.text} / ${b.text}`, value: a.value / b.value })),
    fc
      .tuple(tie("product"), tie("signed"))
      .map(([a, b]) => ({ text: `${a.text} % ${b.text}`, value: a.value % b.value })),
  ),
  sum: fc.oneof(
    { depthSize: "small" },
    tie("product"),
    fc.tuple(tie("sum"), tie("product")).map(([a, b]) => ({ text: `${a.text} + ${b.text}`, value: a.value + b.value })),
    fc.tuple(tie("sum"), tie("product")).map(([a, b]) => ({ text: `${a.text}-${b.text}`, value: a.value - b.value })),
  ),
}));

test("any expression has the value that its tree has, or is refused where that is no finite number", () => {
  fc.assert(
    fc.property(sum, ({ text, value }) => {
      fc.pre(text.length <= 1000);
      if (Number.isFinite(value)) assert.equal(evaluate(text), value, text);
      else assert.throws(() => evaluate(text), { code: "invalid_params" }, text);
    }),
  );
});

test("what people write is understood", () => {
  assert.equal(evaluate("17 × 23"), 391);
  assert.equal(evaluate("2**3^2"), 512);
  assert.equal(evaluate("-2^2"), -4);
  assert.equal(evaluate("(1 + 2) * -sqrt(9) ÷ 3"), -3);
  assert.equal(evaluate("1.5e3 + .5"), 1500.5);
  assert.equal(evaluate("round(PI * 100) / 100"), 3.14);
});

const refused: [expression: string, says: RegExp][] = [
  ["", /a number is missing at the end/],
  ["2 +", /a number is missing at the end/],
  ["2 * / 3", /a number is missing before "\/"/],
  ["2 3", /an operator is missing before "3"/],
  ["(1 + 2", /a "\)" is missing/],
  ["1 + 2)", /an operator is missing before "\)"/],
  ["1 / 0", /divides by zero/],
  ["sqrt(-1)", /no value in real numbers/],
  ["sqrt 9", /sqrt needs its argument in parentheses/],
  ["sqrt(4, 9)", /sqrt takes 1 argument, not 2/],
  ["process.exit(1)", /"\.exit\(1\)" cannot be read/],
  ["constructor(1)", /"constructor" is not known: there are sqrt/],
  ["1; 2", /"; 2" cannot be read/],
  ["9".repeat(1001), /may have 1000 characters/],
  ["(".repeat(400), /may be 100 levels deep/],
  ["-".repeat(400), /may be 100 levels deep/],
  ["2^".repeat(400), /may be 100 levels deep/],
];
for (const [expression, says] of refused) {
  test(`${JSON.stringify(expression.slice(0, 20))} is refused with the reason`, () => {
    assert.throws(() => evaluate(expression), { code: "invalid_params", message: says });
  });
}
