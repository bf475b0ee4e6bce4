import type { EventOf } from "bytebot/sdk";
import { newEditor, type Editor } from "./editor.ts";

/** What one question asks for, one after the other: an answer is one field, or an object of several. */
export interface Field {
  /** Its key in the object that is asked for; undefined: the answer is this field itself. */
  name: string | undefined;
  label: string;
  kind: "text" | "number" | "integer" | "json" | "choice";
  choices: readonly Choice[];
  required: boolean;
  /** Taken where nothing is entered; undefined: none. */
  fallback: unknown;
}

interface Choice {
  label: string;
  value: unknown;
}

/** What was entered of a field so far. `choice` -1 is none: an Enter meant for something else must not approve anything. */
export interface Entry {
  choice: number;
  answer: Editor;
}

type Schema = Record<string, unknown>;

/** An object of more is written as JSON: nobody wants to be asked so often. */
const MOST_FIELDS = 20;
const MOST_CHOICES = 64;

export function fieldsOf({ options, schema }: Pick<EventOf<"input_strict">, "options" | "schema">): Field[] {
  const alone = { name: undefined, label: "", required: true, fallback: undefined };
  if (options) {
    const choices = options.map((option) => ({ label: option, value: option }));
    return [{ ...alone, kind: "choice", choices }];
  }
  if (!schema) return [{ ...alone, kind: "text", choices: [] }];
  const properties = Object.entries(isSchema(schema["properties"]) ? schema["properties"] : {});
  if (schema["type"] !== "object" || properties.length === 0 || properties.length > MOST_FIELDS)
    return [{ ...alone, ...kindOf(schema) }];
  const required = Array.isArray(schema["required"]) ? (schema["required"] as unknown[]) : [];
  return properties.map(([name, of]) => {
    const { title, description, default: fallback } = isSchema(of) ? of : {};
    const label = [typeof title === "string" ? title : name, description].filter((part) => typeof part === "string");
    const kind = kindOf(isSchema(of) ? of : {});
    return { name, label: label.join(": "), ...kind, required: required.includes(name), fallback };
  });
}

export function newEntry({ choices, fallback }: Field): Entry {
  return {
    choice: fallback === undefined ? -1 : choices.findIndex(({ value }) => value === fallback),
    answer: newEditor(),
  };
}

/** What this entry says: a value, nothing (`undefined`, where it may be left out), or what is wrong with it. */
export function read(field: Field, { choice, answer: { text } }: Entry): { value: unknown } | { problem: string } {
  const left = { value: field.fallback };
  if (field.kind === "choice") {
    const chosen = field.choices[choice];
    if (chosen) return { value: chosen.value };
    return field.required ? { problem: "Choose with a number or the arrows, then press Enter." } : left;
  }
  if (field.name !== undefined && text.trim() === "") {
    return field.required && field.fallback === undefined ? { problem: "This is needed." } : left;
  }
  switch (field.kind) {
    case "text":
      return { value: text };
    case "json":
      return readJson(text);
    case "number":
    case "integer": {
      const number = text.trim() === "" ? NaN : Number(text);
      const fits = field.kind === "integer" ? Number.isSafeInteger(number) : Number.isFinite(number);
      if (fits) return { value: number };
      return { problem: `A ${field.kind === "integer" ? "whole " : ""}number is needed, as in 42.` };
    }
  }
}

/** The answer of all fields; `at` is the first that has none. */
export function readAll(
  fields: readonly Field[],
  entries: readonly Entry[],
): { value: unknown } | { problem: string; at: number } {
  const object: [string, unknown][] = [];
  for (const [at, field] of fields.entries()) {
    const said = read(field, entries[at]!);
    if ("problem" in said) return { ...said, at };
    if (field.name === undefined) return said;
    if (said.value !== undefined) object.push([field.name, said.value]);
  }
  return { value: Object.fromEntries(object) };
}

/** The field that a refusal names, as in "input/port: too small"; else the one that was entered last. */
export function namedIn(fields: readonly Field[], refusal: string): number {
  const named = fields.findIndex(({ name }) => name !== undefined && refusal.startsWith(`input/${name}:`));
  return named === -1 ? fields.length - 1 : named;
}

/** A default as it would be entered. */
export function fallbackText({ fallback, choices }: Field): string | undefined {
  if (fallback === undefined) return undefined;
  return choices.find(({ value }) => value === fallback)?.label ?? JSON.stringify(fallback);
}

function readJson(text: string): { value: unknown } | { problem: string } {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return {
      problem: `This is not JSON, which the question asks for: write for example 42, true, "text" or {"a": 1}.`,
    };
  }
}

function kindOf(schema: Schema): Pick<Field, "kind" | "choices"> {
  const choices = choicesOf(schema);
  if (choices.length > 0 && choices.length <= MOST_CHOICES) return { kind: "choice", choices };
  switch (schema["type"]) {
    case "string":
      return { kind: "text", choices: [] };
    case "number":
    case "integer":
      return { kind: schema["type"], choices: [] };
    default:
      return { kind: "json", choices: [] };
  }
}

function choicesOf(schema: Schema): Choice[] {
  if (schema["type"] === "boolean") {
    return [
      { label: "yes", value: true },
      { label: "no", value: false },
    ];
  }
  if (Array.isArray(schema["enum"]))
    return (schema["enum"] as unknown[]).map((value) => ({ label: labelOf(value), value }));
  if ("const" in schema) return [{ label: labelOf(schema["const"]), value: schema["const"] }];
  const parts = schema["oneOf"] ?? schema["anyOf"];
  if (!Array.isArray(parts) || !parts.every((part) => isSchema(part) && "const" in part)) return [];
  return (parts as Schema[]).map(({ const: value, title }) => ({
    label: typeof title === "string" ? title : labelOf(value),
    value,
  }));
}

function labelOf(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
