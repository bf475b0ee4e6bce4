import type { ModelTool } from "bytebot/sdk";
import type { Llama, LlamaGrammar } from "node-llama-cpp";
import { examplesOf } from "./examples.ts";

type Json = Record<string, unknown>;
type GrammarSchema = Parameters<Llama["createGrammarForJsonSchema"]>[0];

const MAX_OPTIONAL = 3;
/** Any JSON object: the Hub validates arguments before it runs anything, and tells the model what was wrong. */
const ANY_OBJECT: Json = { type: "object", properties: {}, additionalProperties: true };

/** Exactly one of the texts, then `end`. */
export function oneOf(llama: Llama, texts: readonly string[], end: string): Promise<LlamaGrammar> {
  const alternatives = texts.map((text) => JSON.stringify(` ${text}`)).join(" | ");
  return llama.createGrammar({ grammar: `root ::= (${alternatives}) ${JSON.stringify(end)}` });
}

/**
 * JSON that fits the tool's input schema, as far as a grammar can say it. What is optional but given in each of the
 * tool's examples is asked for: a small model would else leave out what it was told.
 */
export async function argumentsOf(llama: Llama, tool: ModelTool): Promise<LlamaGrammar> {
  const schema = {
    ...tool.input_schema,
    required: [...((tool.input_schema["required"] ?? []) as string[]), ...usual(tool)],
  };
  try {
    return await llama.createGrammarForJsonSchema(object(schema, defsOf(schema)) as GrammarSchema);
  } catch {
    return llama.createGrammarForJsonSchema(ANY_OBJECT as GrammarSchema);
  }
}

function usual(tool: ModelTool): string[] {
  const [first, ...others] = examplesOf(tool);
  return Object.keys(first?.input ?? {}).filter((name) => others.every(({ input }) => name in input));
}

/** JSON Schema 2020-12 → the subset a grammar is made from, in which every property is required. */
function convert(schema: unknown, defs: Json, depth: number): Json {
  if (typeof schema !== "object" || schema === null || depth > 20) return ANY_OBJECT;
  const given = schema as Json;
  if (typeof given["$ref"] === "string") {
    return convert(defs[given["$ref"].replace(/^#\/(?:\$defs|definitions)\//, "")], defs, depth + 1);
  }
  if ("const" in given) return { const: given["const"] };
  if (Array.isArray(given["enum"])) return { enum: given["enum"] };
  const options = given["anyOf"] ?? given["oneOf"];
  if (Array.isArray(options)) return { oneOf: options.map((option) => convert(option, defs, depth + 1)) };
  switch (given["type"]) {
    case "object":
      return object(given, defs, depth);
    case "array":
      return {
        type: "array",
        items: convert(given["items"] ?? { type: "string" }, defs, depth + 1),
        ...only(given, "minItems", "maxItems"),
      };
    case "string":
      return { type: "string", ...only(given, "minLength", "maxLength") };
    default:
      return { type: given["type"] ?? "string" };
  }
}

function object(schema: Json, defs: Json, depth = 0): Json {
  const properties = Object.entries((schema["properties"] ?? {}) as Json);
  if (
    properties.length === 0 &&
    schema["additionalProperties"] !== undefined &&
    schema["additionalProperties"] !== false
  )
    return ANY_OBJECT;
  const required = new Set((schema["required"] ?? []) as string[]);
  const optional = properties.map(([name]) => name).filter((name) => !required.has(name));
  const shapes = choices(optional).map((chosen): Json => ({
    type: "object",
    properties: Object.fromEntries(
      properties
        .filter(([name]) => required.has(name) || chosen.has(name))
        .map(([name, property]) => [name, convert(property, defs, depth + 1)]),
    ),
  }));
  return shapes.length === 1 ? (shapes[0] as Json) : { oneOf: shapes };
}

/** Which optional properties may stand together: any of a few, none or all of many. */
function choices(names: readonly string[]): Set<string>[] {
  if (names.length > MAX_OPTIONAL) return [new Set(), new Set(names)];
  return names.reduce<Set<string>[]>(
    (sets, name) => [...sets, ...sets.map((set) => new Set([...set, name]))],
    [new Set()],
  );
}

function defsOf(schema: Json): Json {
  return { ...(schema["definitions"] as Json | undefined), ...(schema["$defs"] as Json | undefined) };
}

function only(schema: Json, ...keys: string[]): Json {
  return Object.fromEntries(keys.filter((key) => schema[key] !== undefined).map((key) => [key, schema[key]]));
}
