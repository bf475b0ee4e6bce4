import type {
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4TextPart,
  LanguageModelV4ToolCallPart,
} from "@ai-sdk/provider";
import type { Block, InferRequestEvent, Message } from "bytebot/sdk";

type AssistantPart = LanguageModelV4TextPart | LanguageModelV4ToolCallPart;
type Part = LanguageModelV4TextPart | LanguageModelV4FilePart;

/** What this format carries beside text. */
export const SENDABLE = /^(?:image\/.+|audio\/(?:wav|mp3|mpeg)|application\/pdf)$/;

/** Canonical messages → the prompt of the language model interface. */
export function toPrompt({ system, messages }: Pick<InferRequestEvent, "system" | "messages">): LanguageModelV4Prompt {
  const names = toolNames(messages);
  return [
    ...(system ? [{ role: "system" as const, content: system }] : []),
    ...messages.flatMap((message) => (message.role === "user" ? fromUser(message, names) : fromAssistant(message))),
  ];
}

/** Results come first, as this format wants them right behind their calls; what else was said follows as the user's. */
function fromUser({ content }: Message, names: ReadonlyMap<string, string>): LanguageModelV4Message[] {
  const results = content.filter((block) => block.type === "tool_result");
  const said = content.filter((block) => block.type !== "tool_result").map(toPart);
  // A tool's message takes only text here: its pictures go along with the user's.
  const shown = results.flatMap((block) =>
    (block["content"] as Block[]).map(toPart).filter((part) => part.type === "file"),
  );
  const user = [...shown, ...said];
  return [
    ...(results.length > 0 ? [{ role: "tool" as const, content: results.map((block) => toResult(block, names)) }] : []),
    ...(user.length > 0 ? [{ role: "user" as const, content: user }] : []),
  ];
}

function toResult(block: Block, names: ReadonlyMap<string, string>) {
  const id = String(block["tool_use_id"]);
  const value = (block["content"] as Block[])
    .map(toPart)
    .map((part) => (part.type === "text" ? part.text : `[${part.mediaType}, shown below]`));
  const type = block["is_error"] === true ? ("error-text" as const) : ("text" as const);
  return {
    type: "tool-result" as const,
    toolCallId: id,
    toolName: names.get(id) ?? "tool",
    output: { type, value: value.join("\n") },
  };
}

/** Thinking stays behind: this format has no place for its signature, and unsigned it may not be sent back. */
function fromAssistant({ content }: Message): LanguageModelV4Message[] {
  const parts = content.flatMap((block): AssistantPart[] => {
    if (block.type === "text") return [{ type: "text", text: String(block["text"]) }];
    if (block.type !== "tool_use") return [];
    return [
      { type: "tool-call", toolCallId: idOf(block), toolName: String(block["name"]), input: block["input"] ?? {} },
    ];
  });
  return parts.length > 0 ? [{ role: "assistant", content: parts }] : [];
}

function toPart(block: Block): Part {
  if (block.type === "text") return { type: "text", text: String(block["text"]) };
  const mediaType = String(block["mime_type"]);
  if (typeof block["data"] === "string" && SENDABLE.test(mediaType)) {
    return { type: "file", mediaType, data: { type: "data", data: block["data"] } };
  }
  const size = typeof block["size"] === "number" ? ` of ${block["size"]} bytes` : "";
  return { type: "text", text: `[${mediaType}${size}, not shown: it cannot be sent to this server]` };
}

function toolNames(messages: readonly Message[]): Map<string, string> {
  const uses = messages.flatMap((message) => message.content.filter((block) => block.type === "tool_use"));
  return new Map(uses.map((block) => [idOf(block), String(block["name"])]));
}

function idOf(block: Block): string {
  return String(block["id"] ?? block["alias"]);
}
