import type { LanguageModelV4, LanguageModelV4Prompt, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { BytebotError } from "bytebot/sdk";

/** A model of the AI SDK's interface, of whichever version its package was written for. */
interface AnyModel {
  specificationVersion: string;
  provider: string;
  modelId: string;
}

/**
 * The model as version 4 of the interface. Packages for 2 and 3 differ, as far as is used here, in how a file's bytes and a
 * result's parts stand in the prompt, and 2 in how the end is told. Throws `invalid_params` for any other version.
 */
export function asV4(model: AnyModel): LanguageModelV4 {
  const { specificationVersion: version } = model;
  if (version === "v4") return model as LanguageModelV4;
  if (version !== "v2" && version !== "v3") {
    throw new BytebotError(
      "invalid_params",
      `the package of ${model.provider} speaks version ${version} of the AI SDK's interface, and v2, v3 and v4 are spoken here: install another version of it`,
    );
  }
  const older = model as unknown as LanguageModelV4;
  return {
    specificationVersion: "v4",
    provider: model.provider,
    modelId: model.modelId,
    supportedUrls: {},
    doGenerate: () => Promise.reject(new BytebotError("internal", "only streams are asked for")),
    doStream: async ({ prompt, reasoning: _reasoning, ...options }) => {
      const result = await older.doStream({ ...options, prompt: toOlder(prompt) });
      return { ...result, stream: result.stream.pipeThrough(toNewer(model.provider)) };
    },
  };
}

function toOlder(prompt: LanguageModelV4Prompt): LanguageModelV4Prompt {
  return prompt.map((message) => {
    if (message.role === "system") return message;
    const content = message.content.map((part) => {
      if (part.type === "file") return { ...part, data: bytesOf(part) };
      if (part.type !== "tool-result" || part.output.type !== "content") return part;
      const value = part.output.value.map((one) =>
        one.type === "file" ? { type: "media", mediaType: one.mediaType, data: bytesOf(one) } : one,
      );
      return { ...part, output: { ...part.output, value } };
    });
    return { ...message, content };
  }) as LanguageModelV4Prompt;
}

/** A file is `{type:"data", data}` now, and was the data itself. */
function bytesOf({ data }: { data: unknown }): unknown {
  const { type, data: bytes } = data as { type?: unknown; data?: unknown };
  return type === "data" ? bytes : data;
}

type Finish = Extract<LanguageModelV4StreamPart, { type: "finish" }>;

function toNewer(provider: string): TransformStream<LanguageModelV4StreamPart, LanguageModelV4StreamPart> {
  return new TransformStream({ transform: (part, controller) => controller.enqueue(newer(part, provider)) });
}

function newer(part: LanguageModelV4StreamPart, provider: string): LanguageModelV4StreamPart {
  if (part.type === "file") return { ...part, data: { type: "data", data: part.data as never } };
  if (part.type !== "finish" || typeof part.finishReason === "object") return part;
  const counts = part.usage as unknown as Record<string, number | undefined>;
  const { inputTokens: total, outputTokens, cachedInputTokens: cacheRead } = counts;
  const reason = part.finishReason as unknown as string;
  return {
    ...part,
    finishReason: {
      unified: (reason === "unknown" ? "other" : reason) as Finish["finishReason"]["unified"],
      raw: reason,
    },
    usage: {
      inputTokens: { total, noCache: noCache(total, cacheRead, provider), cacheRead, cacheWrite: undefined },
      outputTokens: { total: outputTokens, text: undefined, reasoning: undefined },
    },
  };
}

/** Version 2 counts as its vendor does: cached tokens are among the others, but for Anthropic and Bedrock beside them. */
function noCache(total: number | undefined, cached: number | undefined, provider: string): number | undefined {
  if (total === undefined || cached === undefined) return total;
  return /anthropic|bedrock/.test(provider) || cached > total ? total : total - cached;
}
