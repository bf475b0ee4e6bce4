import type { LanguageModelV4CallOptions, LanguageModelV4ToolChoice, SharedV4ProviderOptions } from "@ai-sdk/provider";
import { BytebotError, type InferRequestEvent } from "bytebot/sdk";
import { toPrompt, type Target } from "./prompt.ts";

const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;

/** A request and its parameters → one call. Parameters without a common name are the provider's own, under its `option`. */
export function toCall(
  request: InferRequestEvent,
  params: Record<string, unknown>,
  target: Target & {
    option: string;
    defaults: Record<string, unknown>;
    /** `top_k` is one of those: the package leaves out the common one, and servers of one's own take it. */
    ownTopK: boolean;
  },
): LanguageModelV4CallOptions {
  const { max_tokens, temperature, top_p, top_k, stop, seed, presence_penalty, frequency_penalty, ...rest } = params;
  const { reasoning, response_schema, ...others } = rest;
  const own = target.ownTopK && top_k !== undefined ? { ...others, top_k } : others;
  const settings = {
    maxOutputTokens: max_tokens,
    temperature,
    topP: top_p,
    topK: target.ownTopK ? undefined : top_k,
    stopSequences: stop === undefined ? undefined : ([stop].flat() as string[]),
    seed,
    presencePenalty: presence_penalty,
    frequencyPenalty: frequency_penalty,
    reasoning: toEffort(reasoning),
    responseFormat: toFormat(response_schema),
  };
  const given = Object.entries(settings).filter(([, value]) => value !== undefined);
  const providerOptions = { [target.option]: { ...target.defaults, ...own } } as SharedV4ProviderOptions;
  return {
    prompt: toPrompt(request, target),
    ...(Object.fromEntries(given) as Partial<LanguageModelV4CallOptions>),
    ...toolsOf(request),
    providerOptions,
  };
}

function toEffort(value: unknown): LanguageModelV4CallOptions["reasoning"] {
  if (value === undefined) return undefined;
  const effort = EFFORTS.find((one) => one === value);
  if (effort) return effort;
  throw new BytebotError(
    "invalid_params",
    `params.reasoning is ${JSON.stringify(value)}: one of ${EFFORTS.join(", ")} is needed`,
  );
}

function toFormat(schema: unknown): LanguageModelV4CallOptions["responseFormat"] {
  if (schema === undefined) return undefined;
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) {
    throw new BytebotError("invalid_params", "params.response_schema is no JSON Schema: an object is needed");
  }
  return { type: "json", schema, name: "answer" };
}

function toolsOf({
  tools = [],
  tool_choice,
}: InferRequestEvent): Pick<LanguageModelV4CallOptions, "tools" | "toolChoice"> {
  if (tools.length === 0) return {};
  return {
    tools: tools.map(({ name, description, input_schema }) => ({
      type: "function",
      name,
      inputSchema: input_schema,
      ...(description === undefined ? {} : { description }),
    })),
    ...(tool_choice ? { toolChoice: toChoice(tool_choice) } : {}),
  };
}

function toChoice(choice: NonNullable<InferRequestEvent["tool_choice"]>): LanguageModelV4ToolChoice {
  if (choice.type === "tool") return { type: "tool", toolName: String(choice["name"]) };
  return { type: choice.type === "any" ? "required" : choice.type };
}
