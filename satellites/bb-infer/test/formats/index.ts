import { chat, compatible } from "./chat.ts";
import { converse } from "./converse.ts";
import { gemini } from "./gemini.ts";
import { messages } from "./messages.ts";
import { responses } from "./responses.ts";
import type { Format } from "./script.ts";

export { chat, compatible, converse, gemini, messages, responses };
export * from "./script.ts";

/** Every format that a provider writes; chat completions twice, as two packages read them. */
export const formats: readonly Format[] = [compatible, chat, responses, messages, gemini, converse];
