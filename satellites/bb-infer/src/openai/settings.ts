import type { LanguageModelV4CallOptions, LanguageModelV4ToolChoice } from "@ai-sdk/provider";
import type { InferRequestEvent } from "bytebot/sdk";
import { toPrompt } from "./prompt.ts";

/** The name under which parameters of the server's own are passed on. */
export const PROVIDER = "server";

/** A request and its parameters → one call. Parameters without a common name go into the request body as they are. */
export function toCall(request: InferRequestEvent, params: Record<string, unknown>): LanguageModelV4CallOptions {
  const { max_tokens, temperature, top_p, stop, seed, presence_penalty, frequency_penalty, ...own } = params;
  const stopSequences = stop === undefined ? undefined : ([stop].flat() as string[]);
  const settings = {
    maxOutputTokens: max_tokens,
    temperature,
    topP: top_p,
    stopSequences,
    seed,
    presencePenalty: presence_penalty,
    frequencyPenalty: frequency_penalty,
  };
  const given = Object.entries(settings).filter(([, value]) => value !== undefined);
  return {
    prompt: toPrompt(request),
    ...(Object.fromEntries(given) as Partial<LanguageModelV4CallOptions>),
    ...toolsOf(request),
    providerOptions: { [PROVIDER]: own as Record<string, never> },
  };
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
