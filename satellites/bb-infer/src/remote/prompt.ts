import type {
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ReasoningPart,
  LanguageModelV4TextPart,
  LanguageModelV4ToolCallPart,
  LanguageModelV4ToolResultOutput,
  LanguageModelV4ToolResultPart,
} from "@ai-sdk/provider";
import type { Block, InferRequestEvent, Message } from "bytebot/sdk";
import { fromSignature, optionsOf } from "./signed.ts";

type AssistantPart = LanguageModelV4TextPart | LanguageModelV4ToolCallPart | LanguageModelV4ReasoningPart;
type Part = LanguageModelV4TextPart | LanguageModelV4FilePart;

/** What a prompt is made for. */
export interface Target {
  /** Which model it is, and whether it is the one that the Hub thinks it is. */
  by: string;
  isPrimary: boolean;
  /** Media that it takes. */
  media: RegExp;
  /** Its results hold text alone: their pictures go along with the user's. */
  textResults: boolean;
}

/** Canonical messages → the prompt of the language model interface. */
export function toPrompt(
  { system, messages }: Pick<InferRequestEvent, "system" | "messages">,
  target: Target,
): LanguageModelV4Prompt {
  const names = toolNames(messages);
  return [
    ...(system ? [{ role: "system" as const, content: system }] : []),
    ...messages.flatMap((message) =>
      message.role === "user" ? fromUser(message, names, target) : fromAssistant(message, target),
    ),
  ];
}

/** Results come first, as every format wants them right behind their calls; what else was said follows as the user's. */
function fromUser({ content }: Message, names: ReadonlyMap<string, string>, target: Target): LanguageModelV4Message[] {
  const results = content.filter((block) => block.type === "tool_result");
  const said = content.filter((block) => block.type !== "tool_result").map((block) => toPart(block, target));
  // A result that holds text alone has its pictures in the user's words; so has one that failed, in every format.
  const apart = results.filter((block) => target.textResults || block["is_error"] === true);
  const shown = apart.flatMap((block) => partsOf(block, target).filter((part) => part.type === "file"));
  const user = [...shown, ...said];
  return [
    ...(results.length > 0
      ? [{ role: "tool" as const, content: results.map((block) => toResult(block, names, target)) }]
      : []),
    ...(user.length > 0 ? [{ role: "user" as const, content: user }] : []),
  ];
}

function toResult(block: Block, names: ReadonlyMap<string, string>, target: Target): LanguageModelV4ToolResultPart {
  const id = String(block["tool_use_id"]);
  return {
    type: "tool-result",
    toolCallId: id,
    toolName: names.get(id) ?? "tool",
    output: toOutput(partsOf(block, target), block["is_error"] === true, target),
  };
}

function toOutput(parts: readonly Part[], failed: boolean, target: Target): LanguageModelV4ToolResultOutput {
  if (!target.textResults && !failed && parts.some((part) => part.type === "file")) {
    return { type: "content", value: parts.map((part) => ({ ...part })) };
  }
  const texts = parts.map((part) => (part.type === "text" ? part.text : `[${part.mediaType}, shown below]`));
  return { type: failed ? "error-text" : "text", value: texts.join("\n") };
}

function partsOf(block: Block, target: Target): Part[] {
  return (block["content"] as Block[]).map((part) => toPart(part, target));
}

function fromAssistant({ content }: Message, { by, isPrimary }: Target): LanguageModelV4Message[] {
  const parts = content.flatMap((block): AssistantPart[] => {
    if (block.type === "text") return [{ type: "text", text: String(block["text"]) }];
    if (block.type === "thinking") {
      const providerOptions = fromSignature(String(block["signature"] ?? ""), by, isPrimary);
      return providerOptions ? [{ type: "reasoning", text: String(block["thinking"]), providerOptions }] : [];
    }
    if (block.type !== "tool_use") return [];
    const providerOptions = optionsOf(block["provider"], by);
    const call = { toolCallId: idOf(block), toolName: String(block["name"]), input: block["input"] ?? {} };
    return [{ type: "tool-call", ...call, ...(providerOptions ? { providerOptions } : {}) }];
  });
  return parts.length > 0 ? [{ role: "assistant", content: parts }] : [];
}

function toPart(block: Block, { media }: Target): Part {
  if (block.type === "text") return { type: "text", text: String(block["text"]) };
  const mediaType = String(block["mime_type"]);
  const { data, name, filename = name } = block as { data?: unknown; name?: unknown; filename?: unknown };
  if (typeof data === "string" && media.test(mediaType)) {
    const named = typeof filename === "string" ? { filename } : {};
    return { type: "file", mediaType, data: { type: "data", data }, ...named };
  }
  const size = typeof block["size"] === "number" ? ` of ${block["size"]} bytes` : "";
  return { type: "text", text: `[${mediaType}${size}, not shown: it cannot be sent to this model]` };
}

function toolNames(messages: readonly Message[]): Map<string, string> {
  const uses = messages.flatMap((message) => message.content.filter((block) => block.type === "tool_use"));
  return new Map(uses.map((block) => [idOf(block), String(block["name"])]));
}

function idOf(block: Block): string {
  return String(block["id"] ?? block["alias"]);
}
