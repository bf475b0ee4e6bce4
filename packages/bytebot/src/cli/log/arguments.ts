import { isScope } from "../../wire/index.ts";
import { UsageError } from "../errors.ts";

/** A scope, or "*" for all. Throws UsageError. */
export function toScopes(text: string | undefined): string {
  if (text === undefined || text === "*") return "*";
  if (isScope(text)) return text;
  throw new UsageError("log", `${JSON.stringify(text)} is no scope: as in u_7f3a or u_7f3a/c_2, or "*" for all`);
}

/** Throws UsageError where it is no number of this kind. */
export function toNumber(option: string, text: string | undefined, { least = 0 } = {}): number | undefined {
  if (text === undefined) return undefined;
  const number = Number(text);
  if (text.trim() !== "" && Number.isFinite(number) && number >= least) return number;
  throw new UsageError("log", `${option} ${JSON.stringify(text)} is no number from ${least} on`);
}
