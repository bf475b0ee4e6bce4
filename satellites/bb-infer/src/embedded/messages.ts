import type { Block, Message } from "bytebot/sdk";

/** A block as a model that knows only text sees it. */
export function textOf(block: Block): string {
  if (block.type === "text") return String(block["text"]);
  if (block.type === "tool_result") return (block["content"] as Block[]).map(textOf).join("\n");
  if (block.type === "thinking" || block.type === "tool_use") return "";
  return `[${String(block["mime_type"])}, not shown: this model reads text only]`;
}

export function isResult(message: Message): boolean {
  return message.content.some((block) => block.type === "tool_result");
}

/** What the person said last: the text the model is to act on. */
export function lastQuestion(messages: readonly Message[]): string {
  const said = messages.findLast((message) => message.role === "user" && !isResult(message));
  return said ? said.content.map(textOf).join("\n").trim() : "";
}

/**
 * Without its oldest exchange: the next beginning is a message of the user's own, so that calls keep their results.
 * Undefined where only the last exchange is left.
 */
export function dropOldest(messages: readonly Message[]): Message[] | undefined {
  const next = messages.findIndex((message, at) => at > 0 && message.role === "user" && !isResult(message));
  return next > 0 ? messages.slice(next) : undefined;
}
