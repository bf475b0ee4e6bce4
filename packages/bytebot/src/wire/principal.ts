import { z } from "zod";

/** What one can see, with single spaces between: nothing that hides or turns the text's direction, so that two names differ to the eye too. */
const PRINTABLE = /^[^\p{C}\p{Z}\p{M}\p{DI}](?:[^\p{C}\p{Z}\p{DI}]|(?<! ) (?=[^ ]))*$/u;

/** Who a person is: an opaque text of 1 to 128 printable characters, compared as it is written (rule PRN-1). */
export function isPrincipal(value: unknown): value is string {
  return typeof value === "string" && value.length <= 128 && PRINTABLE.test(value);
}

export const Principal = z
  .string()
  .min(1)
  .max(128)
  .refine(isPrincipal, "a principal is 1 to 128 printable characters, with single spaces between them");
