import { Validator, type Schema as JsonSchema } from "@cfworker/json-schema";
import { BytebotError } from "../../wire/index.ts";
import { flatCheck } from "./flat.ts";

/** Characters of one schema. */
const MAX_SCHEMA = 64 * 1024;
/** Weight of a schema times weight of a value that is checked in the Hub's own thread: some milliseconds. */
const MAX_WORK = 20_000;
/** Characters of text that weigh as much as one value. */
const TEXT = 64;
/** Characters of a reason: a schema's own words stand in it. */
const MAX_REASON = 2000;

/** A JSON Schema that a satellite sent (rule TOL-7). */
export interface Schema {
  /** As JSON: what the thread for costly ones compiles. */
  text: string;
  /** Where it is plain: what its work costs is known from its size, so that it may be applied here. */
  plain: { validator: Validator; weight: number } | undefined;
  /** True says that a value fits; false, that the others have to look. */
  flat: ((value: unknown) => boolean) | undefined;
}

/** What became of a check. `unusable`: the schema itself is at fault, or took too long; `why` is for the model. */
export type Outcome = { result: "fits" } | { result: "wrong"; why: string } | { result: "unusable"; why: string };

const FITS: Outcome = { result: "fits" };

/** Throws `too_large`, or `invalid_params` where a plain schema cannot be used; the others are compiled by the thread. */
export function toSchema(schema: Record<string, unknown>, what: string): Schema {
  const text = JSON.stringify(schema);
  if (text.length > MAX_SCHEMA) {
    throw new BytebotError("too_large", `the schema of ${what} is over ${MAX_SCHEMA} characters`);
  }
  if (!isPlain(schema)) return { text, plain: undefined, flat: undefined };
  try {
    const plain = { validator: compile(text), weight: weigh(schema, Infinity) };
    return { text, plain, flat: flatCheck(schema) };
  } catch (cause) {
    throw unusable(what, String(cause));
  }
}

export function unusable(what: string, why: string): BytebotError {
  return new BytebotError("invalid_params", `the schema of ${what} is not usable: ${why}`);
}

/** The check, where it is certain to be cheap; undefined: it is the thread's to do. */
export function checkHere({ plain, flat }: Schema, value: unknown): Outcome | undefined {
  if (flat?.(value) === true) return FITS;
  if (!plain || plain.weight * weigh(value, MAX_WORK / plain.weight) > MAX_WORK) return undefined;
  return apply(plain.validator, value);
}

/** An interpreter: no code is made from a schema. A broken one shows it only when used: better now than in a call. */
export function compile(text: string): Validator {
  const schema = JSON.parse(text) as JsonSchema;
  checkPatterns(schema);
  const validator = new Validator(schema, "2020-12", true);
  validator.validate({});
  return validator;
}

/** A pattern that is none would show itself only in a call. */
function checkPatterns(schema: unknown): void {
  if (typeof schema !== "object" || schema === null) return;
  for (const [keyword, inner] of Object.entries(schema)) {
    if (keyword === "pattern" && typeof inner === "string") void new RegExp(inner, "u");
    if (keyword === "const" || keyword === "enum" || keyword === "default" || keyword === "examples") continue;
    if (keyword === "patternProperties") for (const pattern of Object.keys(inner ?? {})) void new RegExp(pattern, "u");
    checkPatterns(inner);
  }
}

/** The check by a schema, at once and however long it takes: not for the Hub, whose peers must not wait for it. */
export function schemaCheck(schema: Record<string, unknown>, what: string): (value: unknown) => string | undefined {
  let validator: Validator;
  try {
    validator = compile(JSON.stringify(schema));
  } catch (cause) {
    throw unusable(what, String(cause));
  }
  return (value) => {
    const outcome = apply(validator, value);
    return outcome.result === "fits" ? undefined : outcome.why;
  };
}

/** What is wrong with the value, in words for the model. */
export function apply(validator: Validator, value: unknown): Outcome {
  try {
    const { valid, errors } = validator.validate(value);
    if (valid) return FITS;
    const worst = errors.at(-1);
    const why = worst ? `${worst.instanceLocation.replace(/^#/, "input")}: ${worst.error}` : "it does not match";
    return { result: "wrong", why: why.slice(0, MAX_REASON) };
  } catch (error) {
    return { result: "unusable", why: String(error).slice(0, MAX_REASON) }; // it refers to itself without an end, say
  }
}

/** Keywords of plain schemas: their work is one visit of each value by each subschema at its place, at most. */
const ONE = new Set(["items", "additionalProperties", "not", "if", "then", "else"]);
const LISTS = new Set(["allOf", "anyOf", "oneOf", "prefixItems"]);
const DATA = new Set(
  (
    "type enum const required minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength minItems " +
    "maxItems minProperties maxProperties title description default examples deprecated readOnly writeOnly $comment $schema"
  ).split(" "),
);
/** Formats whose expressions take a time linear in the text. */
const FORMATS = new Set(["date", "time", "date-time", "uuid", "ipv4"]);

function isPlain(schema: unknown): boolean {
  if (typeof schema === "boolean") return true;
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) return false;
  return Object.entries(schema).every(([keyword, value]) => {
    if (DATA.has(keyword)) return true;
    if (ONE.has(keyword)) return isPlain(value);
    if (LISTS.has(keyword)) return Array.isArray(value) && value.every(isPlain);
    if (keyword === "properties") return typeof value === "object" && Object.values(value ?? {}).every(isPlain);
    return keyword === "format" && FORMATS.has(String(value));
  });
}

/** How much there is to visit; stops counting above `enough`. */
function weigh(value: unknown, enough: number): number {
  if (typeof value === "string") return 1 + value.length / TEXT;
  if (typeof value !== "object" || value === null) return 1;
  let sum = 1;
  for (const inner of Object.values(value)) {
    if (sum > enough) break;
    sum += weigh(inner, enough - sum);
  }
  return sum;
}
