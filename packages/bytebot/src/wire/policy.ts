import { z } from "zod";
import { ScopePattern } from "./envelope.ts";

/** Characters of a pattern, and of a value that patterns are compared with. */
export const MAX_PATTERN = 1024;
/** A year. */
const MAX_REMEMBER_MS = 365 * 24 * 3_600_000;
const MAX_CONDITIONS = 16;

const Pattern = z.string().min(1).max(MAX_PATTERN);

/**
 * One rule: which tools, of whom, where, with which arguments, and what then (rule POL-1). The last rule that matches
 * decides. `*` in a pattern is any run of characters.
 */
export const PolicyRule = z.looseObject({
  /** The tool's name, its name for the model, or `component/name`. */
  tool: Pattern,
  /** The id of the tool's component. */
  component: Pattern.optional(),
  scope: ScopePattern.optional(),
  /** By JSON pointers into the arguments: all have to match (rule POL-5). */
  input: z.record(z.string().max(MAX_PATTERN), z.string().max(MAX_PATTERN)).optional(),
  decision: z.enum(["allow", "ask", "deny"]),
  /** Of `ask`: who may answer, by patterns of principals; absent: whoever may answer questions (rule POL-6). */
  approvers: z.array(Pattern).min(1).max(64).optional(),
  /** Of `ask`: how long an answer `remember` binds, in milliseconds; absent: it is not among the options (rule POL-4). */
  remember_ms: z.int().min(1).max(MAX_REMEMBER_MS).optional(),
});
export type PolicyRule = z.infer<typeof PolicyRule>;

const FIELDS: ReadonlySet<string> = new Set(Object.keys(PolicyRule.shape));

/** Why a rule of the right form can not be used: nothing in it is ignored, as it would then say more than was meant (rule POL-3). */
export function whyUnusable(rule: PolicyRule): string | undefined {
  const unknown = Object.keys(rule).find((field) => !FIELDS.has(field));
  if (unknown !== undefined) {
    const known = [...FIELDS].join(", ");
    return `it has an unknown field ${JSON.stringify(unknown.slice(0, 64))}: a rule has ${known}`;
  }
  if (rule.decision !== "ask" && (rule.approvers ?? rule.remember_ms) !== undefined)
    return `it does not ask, so nobody answers: "approvers" and "remember_ms" are for the decision "ask"`;
  if (rule.input === undefined) return undefined;
  const pointers = Object.keys(rule.input);
  if (pointers.length === 0 || pointers.length > MAX_CONDITIONS)
    return `"input" has ${pointers.length} conditions: 1 to ${MAX_CONDITIONS}, or leave it out`;
  const bad = pointers.find((pointer) => toPath(pointer) === undefined);
  if (bad === undefined) return undefined;
  return `"input": ${JSON.stringify(bad.slice(0, 64))} is no JSON pointer, as in "/path" or "/files/0/name"`;
}

/** The segments of a JSON pointer (RFC 6901); undefined where it is none. */
export function toPath(pointer: string): string[] | undefined {
  if (pointer !== "" && !pointer.startsWith("/")) return undefined;
  if (/~(?![01])/.test(pointer)) return undefined;
  const segments = pointer.split("/").slice(1);
  return segments.map((segment) => segment.replaceAll("~1", "/").replaceAll("~0", "~"));
}
