import type { Block, Message, ToolResultBlock } from "../content.ts";
import { check } from "../check.ts";
import { BytebotError } from "../errors.ts";
import { wide } from "../limits.ts";
import type { ModelTool, ToolChoice } from "../events/turn.ts";
import type { OpenaiMessage, OpenaiPart, OpenaiTool, OpenaiToolCall, OpenaiToolChoice } from "./openai.ts";
import { UNNAMED, type AnthropicFields } from "./to-openai.ts";

type Assistant = Extract<OpenaiMessage, { role: "assistant" }>;

/**
 * OpenAI's shape → canonical, neighbours of one role joined. System messages before all others are the system text; a
 * later one stands where it stood, as the user's (rule CNV-5). Throws `invalid_params` naming the field for what cannot
 * be carried: content that only an address or a provider's file id stands for.
 */
export function toAnthropic(fields: {
  messages: readonly OpenaiMessage[];
  tools?: readonly OpenaiTool[];
  tool_choice?: OpenaiToolChoice;
}): AnthropicFields & { messages: Message[]; tools?: ModelTool[] } {
  const system: string[] = [];
  const messages: Message[] = [];
  for (const [index, message] of fields.messages.entries()) {
    const blocks = toBlocks(message, `messages.${index}`);
    if (isSystem(message) && messages.length === 0)
      for (const block of blocks) system.push((block as { text: string }).text);
    else add(messages, message.role === "assistant" ? "assistant" : "user", blocks);
  }
  return {
    ...(system.length > 0 ? { system: system.join("\n\n") } : {}),
    messages,
    ...(fields.tools ? { tools: fields.tools.map(toModelTool) } : {}),
    ...(fields.tool_choice ? { tool_choice: toChoice(fields.tool_choice) } : {}),
  };
}

function isSystem({ role }: OpenaiMessage): boolean {
  return role === "system" || role === "developer";
}

function add(messages: Message[], role: Message["role"], blocks: Block[]): void {
  if (blocks.length === 0) return;
  const last = messages.at(-1);
  if (last?.role !== role) messages.push({ role, content: blocks });
  else for (const block of blocks) last.content.push(block);
}

function toBlocks(message: OpenaiMessage, where: string): Block[] {
  switch (message.role) {
    case "assistant":
      return fromAssistant(message);
    case "tool": {
      const { tool_call_id, content } = message;
      const said = fromContent(content as string, where) as ToolResultBlock["content"];
      return [{ type: "tool_result", tool_use_id: tool_call_id as string, content: said }];
    }
    default:
      return fromContent(message.content as string | OpenaiPart[], where);
  }
}

function fromContent(content: string | readonly OpenaiPart[], where: string): Block[] {
  if (typeof content === "string") return textBlocks(content);
  return content.flatMap((part, index) => fromPart(part, `${where}.content.${index}`));
}

function fromPart(part: OpenaiPart, where: string): Block[] {
  switch (part.type) {
    case "text":
      return textBlocks(part.text);
    case "image_url": {
      const { url, detail } = part.image_url;
      const more = detail === undefined ? {} : { detail };
      return [{ type: "image", ...fromDataUrl(url, `${where}.image_url.url`), ...more }];
    }
    case "input_audio": {
      const { data, format } = part.input_audio;
      return [{ type: "audio", mime_type: format === "mp3" ? "audio/mpeg" : `audio/${format}`, data }];
    }
    case "file": {
      const { file_data, filename } = part.file;
      if (file_data === undefined) {
        throw cannotCarry(`${where}.file`, "it has no file_data; a file's id means nothing to another provider");
      }
      const more = filename === undefined || filename === UNNAMED ? {} : { filename };
      return [{ type: "file", ...fromDataUrl(file_data, `${where}.file.file_data`), ...more }];
    }
  }
}

function fromAssistant({ content, refusal, tool_calls }: Assistant): Block[] {
  const said = typeof content === "string" ? textBlocks(content) : (content ?? []).flatMap(fromSaid);
  return [...said, ...textBlocks(refusal ?? ""), ...(tool_calls ?? []).map(toToolUse)];
}

function fromSaid(part: { type: string; text?: unknown; refusal?: unknown }): Block[] {
  return textBlocks(String(part.type === "text" ? part.text : part.refusal));
}

const ARGUMENTS = { ...wide, depth: 48 };

/** Arguments that are no JSON, or that no event may hold, never ran: nothing of what happened is lost with them. */
function toToolUse({ id, function: { name, arguments: json } }: OpenaiToolCall): Block {
  if (json.trim() === "") return { type: "tool_use", id, name, input: {} };
  try {
    const input: unknown = JSON.parse(json);
    check({ input }, ARGUMENTS);
    return { type: "tool_use", id, name, input };
  } catch {
    return { type: "tool_use", id, name, input: null, malformed: json.slice(0, 2000) };
  }
}

function textBlocks(text: string): Block[] {
  return text === "" ? [] : [{ type: "text", text }];
}

const BASE64 = ";base64,";

function fromDataUrl(url: string, where: string): { mime_type: string; data: string } {
  const at = url.startsWith("data:") ? url.indexOf(BASE64) : -1;
  if (at === -1) throw cannotCarry(where, "the Hub fetches nothing, so it has to be data:<mime>;base64,<bytes>");
  return { mime_type: url.slice("data:".length, at), data: url.slice(at + BASE64.length) };
}

function cannotCarry(where: string, why: string): BytebotError {
  return new BytebotError("invalid_params", `"${where}": ${why}`);
}

function toModelTool({ function: { name, description, parameters } }: OpenaiTool): ModelTool {
  const input_schema = parameters ?? { type: "object", properties: {} };
  return { name, ...(description === undefined ? {} : { description }), input_schema };
}

function toChoice(choice: OpenaiToolChoice): ToolChoice {
  if (typeof choice === "object") return { type: "tool", name: choice.function.name };
  return { type: choice === "required" ? "any" : choice };
}
