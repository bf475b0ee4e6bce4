import { BytebotError, type ModelTool } from "bytebot/sdk";
import type { Llama, LlamaGrammar } from "node-llama-cpp";
import { examplesOf } from "./examples.ts";
import { literal, toGbnf } from "./schema.ts";

/** Exactly one of the texts, then `end`. */
export function oneOf(llama: Llama, texts: readonly string[], end: string): Promise<LlamaGrammar> {
  const alternatives = texts.map((text) => literal(` ${text}`)).join(" | ");
  return llama.createGrammar({ grammar: `root ::= (${alternatives}) ${literal(end)}` });
}

/**
 * JSON that fits the tool's input schema, as far as a grammar can say it. What is optional but given in each of the
 * tool's examples is asked for: a small model would else leave out what it was told.
 */
export function argumentsOf(llama: Llama, tool: ModelTool): Promise<LlamaGrammar> {
  const { required, ...schema } = tool.input_schema;
  // A tool that names no parameters has none.
  const shape = {
    additionalProperties: false,
    ...schema,
    type: "object",
    required: [required ?? [], usual(tool)].flat(),
  };
  return llama.createGrammar({ grammar: toGbnf(shape) });
}

/** What an answer has to look like: a JSON Schema, or a grammar in llama.cpp's own form. */
export type Shape = { schema: Record<string, unknown> } | { gbnf: string };

/** Rejects with `invalid_params` where the grammar is none. */
export async function grammarOf(llama: Llama, shape: Shape): Promise<LlamaGrammar> {
  if ("schema" in shape) return llama.createGrammar({ grammar: toGbnf(shape.schema) });
  try {
    return await llama.createGrammar({ grammar: shape.gbnf });
  } catch (cause) {
    const message = `params.grammar is no grammar that llama.cpp can read (${(cause as Error).message}): it is GBNF, begins at "root", and no rule may begin with itself`;
    throw new BytebotError("invalid_params", message, { cause });
  }
}

function usual(tool: ModelTool): string[] {
  const [first, ...others] = examplesOf(tool);
  return Object.keys(first?.input ?? {}).filter((name) => others.every(({ input }) => name in input));
}
