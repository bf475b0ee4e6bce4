import { isBlank, type Block, type Message, type ToolResultBlock } from "../../wire/index.ts";
import type { Call } from "../state.ts";

/** Adds what a user said or a tool returned; neighbours of one role become one message (the strictest provider's rule). */
export function addUser(messages: Message[], content: Block[]): void {
  if (content.length === 0) return;
  const last = messages.at(-1);
  if (last?.role === "user") for (const block of content) last.content.push(block);
  else messages.push({ role: "user", content: [...content] });
}

/** Adds the model's blocks; blank ones are left out, a result that no tool gave, and a message that would be empty. */
export function addAssistant(messages: Message[], blocks: readonly Block[]): void {
  const content = blocks.filter((block) => block.type !== "tool_result" && !isBlank(block));
  if (content.length === 0) return;
  const last = messages.at(-1);
  if (last?.role === "assistant") for (const block of content) last.content.push(block);
  else messages.push({ role: "assistant", content });
}

/** The results of a round's calls, in call order, each beside its tool_use block. */
export function addResults(messages: Message[], calls: readonly Call[]): void {
  const results = calls.map((call): ToolResultBlock => {
    const content = (call.content ?? []) as ToolResultBlock["content"];
    return { type: "tool_result", tool_use_id: call.id, content, ...(call.status === "ok" ? {} : { is_error: true }) };
  });
  addUser(messages, results);
}

/** What was said so far, as the model will see it: a copy, because the next round goes on with the original. */
export function copyMessages(messages: readonly Message[]): Message[] {
  return messages.map((message) => ({ ...message, content: [...message.content] }));
}

export function textBlock(text: string): Block {
  return { type: "text", text };
}
