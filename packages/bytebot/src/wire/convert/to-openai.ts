import type { Block, Message, ToolResultBlock } from "../content.ts";
import type { ModelTool, ToolChoice } from "../events/turn.ts";
import type {
  OpenaiFields,
  OpenaiMessage,
  OpenaiPart,
  OpenaiTool,
  OpenaiToolCall,
  OpenaiToolChoice,
} from "./openai.ts";

/** What of a request has the canonical shape. */
export interface AnthropicFields {
  system?: string;
  messages: readonly Message[];
  tools?: readonly ModelTool[];
  tool_choice?: ToolChoice;
}

type TextPart = Extract<OpenaiPart, { type: "text" }>;

/**
 * Canonical → OpenAI's shape. What has no place there: thinking goes; the pictures of a tool's result stand in a user
 * message behind the results; other content becomes a note that says what is missing (rules CNV-3 and CNV-4).
 */
export function toOpenai({ system, messages, tools, tool_choice }: AnthropicFields): OpenaiFields {
  const out: OpenaiMessage[] = [];
  if (system !== undefined && system !== "") out.push({ role: "system", content: system });
  for (const message of messages) {
    if (message.role === "user") fromUser(message.content, out);
    else fromAssistant(message.content, out);
  }
  return {
    messages: out,
    ...(tools ? { tools: tools.map(toOpenaiTool) } : {}),
    ...(tool_choice ? { tool_choice: toOpenaiChoice(tool_choice) } : {}),
  };
}

/** Results first, each a message of its own; then, as the user's, their pictures and what else was said. */
function fromUser(content: readonly Block[], out: OpenaiMessage[]): void {
  const parts: OpenaiPart[] = [];
  for (const block of content) if (block.type === "tool_result") out.push(toolMessage(block as ToolResultBlock, parts));
  for (const block of content) if (block.type !== "tool_result") parts.push(toPart(block) ?? note(block));
  if (parts.length > 0) out.push({ role: "user", content: single(parts) });
}

/** `shown`: where what is no text goes. */
function toolMessage({ tool_use_id, content, is_error }: ToolResultBlock, shown: OpenaiPart[]): OpenaiMessage {
  const texts: TextPart[] = is_error === true ? [text("[The call failed.]")] : [];
  let named = false;
  for (const block of content as Block[]) {
    const part = toPart(block);
    if (part === undefined) texts.push(note(block));
    else if (part.type === "text") texts.push(part);
    else {
      texts.push(text(`[${String(block["mime_type"])}, in the user message below]`));
      if (!named) shown.push(text(`[From the result of the call ${tool_use_id}:]`));
      named = true;
      shown.push(part);
    }
  }
  return { role: "tool", tool_call_id: tool_use_id, content: texts.length === 0 ? "" : single(texts) };
}

function fromAssistant(content: readonly Block[], out: OpenaiMessage[]): void {
  const texts: TextPart[] = [];
  const calls: OpenaiToolCall[] = [];
  for (const block of content) {
    if (block.type === "text") texts.push(text(String(block["text"])));
    else if (block.type === "tool_use") calls.push(toCall(block));
    else if (block.type !== "thinking") texts.push(note(block));
  }
  if (texts.length === 0 && calls.length === 0) return;
  out.push({
    role: "assistant",
    content: texts.length === 0 ? null : single(texts),
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  });
}

function toCall(block: Block): OpenaiToolCall {
  const { id, name, input } = block as Extract<Block, { type: "tool_use" }>;
  return {
    id: id ?? "",
    type: "function",
    // What was no JSON is told by its result; here it would break every reader of the transcript.
    function: { name, arguments: JSON.stringify(input ?? {}) },
  };
}

/** Undefined: it has no place in a message of this shape. */
function toPart(block: Block): OpenaiPart | undefined {
  const { type, mime_type, data } = block as { type: string; mime_type?: string; data?: string };
  switch (type) {
    case "text":
      return text(String(block["text"]));
    case "image": {
      const detail = typeof block["detail"] === "string" ? { detail: block["detail"] } : {};
      return { type: "image_url", image_url: { url: dataUrl(mime_type, data), ...detail } };
    }
    case "audio":
      return { type: "input_audio", input_audio: { data: data ?? "", format: formatOf(mime_type ?? "") } };
    case "file": {
      const filename = typeof block["filename"] === "string" ? block["filename"] : UNNAMED;
      return { type: "file", file: { file_data: dataUrl(mime_type, data), filename } };
    }
    default:
      return undefined;
  }
}

/** Servers refuse a file without a name. */
export const UNNAMED = "file";

const FORMATS: Record<string, string> = { "audio/mpeg": "mp3", "audio/mp3": "mp3", "audio/x-wav": "wav" };

function formatOf(mime: string): string {
  return Object.hasOwn(FORMATS, mime) ? FORMATS[mime]! : mime.replace(/^audio\//, "");
}

function dataUrl(mime: string | undefined, data: string | undefined): string {
  return `data:${mime ?? ""};base64,${data ?? ""}`;
}

function note(block: Block): TextPart {
  const { mime_type, size } = block as { mime_type?: unknown; size?: unknown };
  const what = typeof mime_type === "string" ? mime_type : block.type;
  return text(`[${what}${typeof size === "number" ? ` of ${size} bytes` : ""}: left out, it cannot be sent here]`);
}

function text(value: string): TextPart {
  return { type: "text", text: value };
}

/** One text alone is a string: the form that every server reads. */
function single<Part extends OpenaiPart>(parts: Part[]): string | Part[] {
  const [first] = parts;
  return parts.length === 1 && first!.type === "text" ? (first as TextPart).text : parts;
}

function toOpenaiTool({ name, description, input_schema }: ModelTool): OpenaiTool {
  return {
    type: "function",
    function: { name, ...(description === undefined ? {} : { description }), parameters: input_schema },
  };
}

function toOpenaiChoice(choice: ToolChoice): OpenaiToolChoice {
  if (choice.type === "tool") return { type: "function", function: { name: choice.name as string } };
  return choice.type === "any" ? "required" : choice.type;
}
