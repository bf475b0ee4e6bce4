import type { Block, Message, ThinkingBlock, ToolResultBlock, ToolUseBlock } from "../content.ts";
import { BytebotError } from "../errors.ts";

/** Nothing in it: a provider that is strict refuses the whole request for it. */
export function isBlank(block: Block): boolean {
  if (block.type === "text") return !/\S/.test((block as { text: string }).text);
  return (block.type === "image" || block.type === "audio" || block.type === "file") && block["data"] === "";
}

/**
 * The messages as the strictest provider takes them: repaired where that changes nothing that was said, refused with
 * `invalid_params` where it would (rules CNV-6 to CNV-9). `mayKeep`: may this signed thinking go back to this model?
 * Returns messages of its own; one pass, no copy of a copy.
 */
export function strict(messages: readonly Message[], mayKeep: (block: ThinkingBlock) => boolean): Message[] {
  const out: Message[] = [];
  for (const [index, message] of messages.entries()) {
    const content: Block[] = [];
    for (const block of message.content) {
      const kept = mend(block, message.role, mayKeep, index);
      if (kept) content.push(kept);
    }
    add(out, message, content);
  }
  endWithoutThinking(out);
  if (out.length === 0) throw wrong("nothing is left to send: no message says anything");
  if (out[0]!.role !== "user") throw wrong("they begin with the assistant: begin with a user message");
  pair(out);
  return out;
}

/** Neighbours of one role are one message. */
function add(out: Message[], message: Message, content: Block[]): void {
  if (content.length === 0) return;
  if (message.role === "user") endWithoutThinking(out);
  const last = out.at(-1);
  if (last?.role !== message.role) out.push({ ...message, content });
  else for (const block of content) last.content.push(block);
}

/** Thinking that led to nothing: an answer that was cut short after it. No answer may end with it. */
function endWithoutThinking(out: Message[]): void {
  const last = out.at(-1);
  if (last?.role !== "assistant") return;
  while (last.content.at(-1)?.type === "thinking") last.content.pop();
  if (last.content.length === 0) out.pop();
}

function mend(
  block: Block,
  role: Message["role"],
  mayKeep: (block: ThinkingBlock) => boolean,
  index: number,
): Block | undefined {
  switch (block.type) {
    case "thinking": {
      if (role !== "assistant") throw misplaced("thinking", "an assistant", index);
      const { origin: _, ...sent } = block as ThinkingBlock;
      return sent.signature !== undefined && mayKeep(block as ThinkingBlock) ? sent : undefined;
    }
    case "tool_use":
      if (role !== "assistant") throw misplaced("a tool_use", "an assistant", index);
      return mendUse(block as ToolUseBlock);
    case "tool_result":
      if (role !== "user") throw misplaced("a tool_result", "a user", index);
      return mendResult(block as ToolResultBlock);
    default:
      return isBlank(block) ? undefined : block;
  }
}

/** A name that a model made up, and arguments that were no object: neither ran, and what came of it says so. */
function mendUse(block: ToolUseBlock): Block {
  const { name, input } = block;
  const isObject = typeof input === "object" && input !== null && !Array.isArray(input);
  const allowed = /^[A-Za-z0-9_-]{1,64}$/.test(name);
  if (isObject && allowed && !("malformed" in block)) return block;
  const { malformed: _, ...rest } = block;
  const mended = name.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, 64);
  return { ...rest, name: mended === "" ? "_" : mended, input: isObject ? input : {} };
}

function mendResult(block: ToolResultBlock): Block {
  if (!block.content.some((part) => isBlank(part as Block)) && (block.is_error !== true || block.content.length > 0)) {
    return block;
  }
  const content = block.content.filter((part) => !isBlank(part as Block));
  if (block.is_error === true && content.length === 0) {
    content.push({ type: "text", text: "The call failed, and said no more." });
  }
  return { ...block, content };
}

/** Each call has one result, in the user message right behind it and first in it; no result is without its call. */
function pair(messages: Message[]): void {
  const known = new Set<string>();
  let open = new Set<string>();
  for (const message of messages) {
    if (message.role === "user") answer(message, open);
    open = new Set();
    for (const block of message.content) {
      if (block.type !== "tool_use") continue;
      const { id } = block as ToolUseBlock;
      if (id === undefined) throw wrong(`a call of "${short(block["name"])}" has no id`);
      if (known.has(id)) throw wrong(`two calls have the id "${short(id)}"`);
      known.add(id);
      open.add(id);
    }
  }
  refuseOpen(open);
}

function answer(message: Message, open: Set<string>): void {
  let others = 0;
  let sorted = true;
  for (const block of message.content) {
    if (block.type !== "tool_result") {
      others++;
      continue;
    }
    if (others > 0) sorted = false;
    const { tool_use_id: id } = block as ToolResultBlock;
    if (!open.delete(id)) {
      throw wrong(
        `the result of "${short(id)}" does not follow its call, or is there twice: leave both out, or neither`,
      );
    }
  }
  refuseOpen(open);
  if (sorted) return;
  const results = message.content.filter(({ type }) => type === "tool_result");
  message.content = [...results, ...message.content.filter(({ type }) => type !== "tool_result")];
}

function refuseOpen(open: ReadonlySet<string>): void {
  for (const id of open) {
    throw wrong(`the call "${short(id)}" has no result in the message right behind it: leave both out, or neither`);
  }
}

/** Whatever a context wrote there, an error is read by people. */
function short(id: unknown): string {
  return String(id).slice(0, 128);
}

function misplaced(what: string, whose: string, index: number): BytebotError {
  return new BytebotError("invalid_params", `"messages.${index}": ${what} belongs in ${whose} message`);
}

function wrong(why: string): BytebotError {
  return new BytebotError("invalid_params", `"messages": ${why}`);
}
