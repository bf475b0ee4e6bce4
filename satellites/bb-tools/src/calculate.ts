import { defineTool } from "bytebot/sdk";
import { z } from "zod";
import { evaluate } from "./arithmetic.ts";

export const calculate = defineTool({
  name: "calculate",
  description: "Computes an arithmetic expression, as in (2 + 3) * 4^2 / sqrt(9).",
  input: z.object({
    expression: z
      .string()
      .describe("Numbers, + - * / % ^, parentheses, sqrt, abs, round, floor, ceil, min, max, pi, e."),
  }),
  annotations: { read_only: true },
  run: ({ expression }) => show(evaluate(expression)),
});

/** Without the last digits, which in binary fractions are noise; from 2^53 on a number is no longer exact, and says so. */
function show(value: number): string {
  const rounded = Number(value.toPrecision(15));
  return Math.abs(value) > Number.MAX_SAFE_INTEGER ? `about ${rounded}` : String(rounded);
}
