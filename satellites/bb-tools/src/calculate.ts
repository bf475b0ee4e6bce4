import { defineTool } from "bytebot/sdk";
import { z } from "zod";
import { evaluate } from "./arithmetic.ts";

export const calculate = defineTool({
  name: "calculate",
  description:
    'Works out an arithmetic expression with numbers, + - * / and brackets. Examples: "How much is 12 times 3?" = {"expression":"12 * 3"}; "What is (4 + 5) / 2?" = {"expression":"(4 + 5) / 2"}; "How much is 60 / 5?" = {"expression":"60 / 5"}; "Take 3 from 8." = {"expression":"8 - 3"}',
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
