import { BytebotError, type Message, type ModelTool } from "bytebot/sdk";
import type { LlamaText } from "node-llama-cpp";
import { dropOldest } from "./messages.ts";

/** Text to continue, and what ends the continuation. */
export interface Draft {
  prompt: LlamaText;
  stops: readonly (LlamaText | string)[];
  /** The reply repeats what is in the prompt, so that repeats are not to be punished. */
  copies?: boolean | undefined;
}

/** What a prompt is made of. */
export interface Asked {
  system?: string | undefined;
  messages: readonly Message[];
  tools: readonly ModelTool[];
}

/** How a kind of model is addressed. */
export interface Prompts {
  /** Ends where the name of a tool comes next, or `none`. */
  choice(asked: Asked): LlamaText;
  /** What stands after the name. */
  readonly nameEnd: string;
  /** Ends where the arguments of the tool come next, as JSON. */
  input(asked: Asked, tool: ModelTool): LlamaText;
  /** Ends where an answer in words comes next. */
  answer(asked: Asked, room: Room): Draft;
  /** Ends where an answer comes next that a grammar holds to a shape, for a schema that is JSON. */
  shaped(asked: Asked, room: Room, schema: Record<string, unknown> | undefined): Draft;
}

/** How long a prompt may be, in tokens, so that the reply fits behind it. */
export interface Room {
  limit: number;
  tokens(prompt: LlamaText): number;
}

/** The name with which a model says that no tool is needed. */
export const NONE = "none";

/** The draft of as many of the last messages as fit. `too_large`, with both numbers, where not even the last exchange does. */
export function fitting(
  messages: readonly Message[],
  draft: (messages: readonly Message[]) => LlamaText,
  room: Room,
): LlamaText {
  for (let some = messages; ;) {
    if (some.length === 0) throw new BytebotError("invalid_params", "there is no message to answer: messages is empty");
    const prompt = draft(some);
    const tokens = room.tokens(prompt);
    if (tokens <= room.limit) return prompt;
    const fewer = dropOldest(some);
    if (!fewer) throw tooLarge(tokens, room);
    some = fewer;
  }
}

export function tooLarge(tokens: number, { limit }: Room): BytebotError {
  const message = `the last message makes a prompt of ${tokens} tokens, and the embedded model takes ${limit}: shorten it, or raise opts.params.context_size`;
  return new BytebotError("too_large", message, { data: { tokens, limit } });
}
