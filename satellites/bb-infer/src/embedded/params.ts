import { BytebotError } from "bytebot/sdk";
import type { Shape } from "./grammar.ts";
import type { Sampling } from "./model.ts";

/** llama.cpp reads a grammar by recursion: a hundred thousand brackets in one another would end the process. */
const MAX_GRAMMAR = { characters: 16 * 1024, brackets: 1_000 };

/** A request's params, checked, with the defaults that suit a small model. */
export interface EmbeddedParams {
  maxTokens: number;
  contextSize: number;
  stop: string[];
  shape: Shape | undefined;
  sampling: Sampling;
}

/** Throws `invalid_params`, naming the parameter, its value and the range. What is not listed is ignored: thoughts, say, which it has none of. */
export function toParams(params: Record<string, unknown>): EmbeddedParams {
  const number = (name: string, low: number, high: number) => {
    const value = params[name];
    if (value === undefined) return undefined;
    if (typeof value === "number" && value >= low && value <= high) return value;
    throw new BytebotError(
      "invalid_params",
      `params.${name} is ${JSON.stringify(value)}: a number from ${low} to ${high} is needed`,
    );
  };
  const contextSize = number("context_size", 512, 1_000_000) ?? 4_096;
  const maxTokens = Math.min(number("max_tokens", 1, 1_000_000) ?? 256, Math.floor(contextSize / 2));
  const stop = [params["stop"] ?? []].flat();
  if (!stop.every((text) => typeof text === "string" && text !== "")) {
    throw new BytebotError("invalid_params", "params.stop is a text or a list of texts, none of them empty");
  }
  return {
    maxTokens: Math.floor(maxTokens),
    contextSize: Math.floor(contextSize),
    stop: stop as string[],
    shape: toShape(params),
    sampling: {
      temperature: number("temperature", 0, 5) ?? 0,
      topP: number("top_p", 0, 1),
      topK: number("top_k", 0, 1_000_000),
      seed: number("seed", 0, 2 ** 32 - 1),
      repeatPenalty: number("repeat_penalty", 1, 5) ?? 1.1,
      presencePenalty: number("presence_penalty", -2, 2),
      frequencyPenalty: number("frequency_penalty", -2, 2),
    },
  };
}

function toShape({ response_schema: schema, grammar }: Record<string, unknown>): Shape | undefined {
  const refuse = (message: string) => new BytebotError("invalid_params", `params.${message}`);
  if (schema !== undefined && grammar !== undefined) {
    throw refuse("response_schema and params.grammar both say what the answer looks like: give one of them");
  }
  if (schema !== undefined) {
    if (typeof schema === "object" && schema !== null && !Array.isArray(schema)) return { schema: { ...schema } };
    throw refuse("response_schema is a JSON Schema, an object");
  }
  if (grammar === undefined) return undefined;
  const { characters, brackets } = MAX_GRAMMAR;
  if (typeof grammar !== "string" || grammar.length > characters || grammar.split("(").length > brackets) {
    throw refuse(`grammar is a text of at most ${characters} characters and ${brackets} brackets, in llama.cpp's GBNF`);
  }
  return { gbnf: grammar };
}
