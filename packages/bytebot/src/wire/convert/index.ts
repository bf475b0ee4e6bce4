/** Conversations in the two shapes, and what the strictest provider asks of them. */
export * from "./openai.ts";
export { isBlank, strict } from "./strict.ts";
export { toAnthropic } from "./to-anthropic.ts";
export { toOpenai, type AnthropicFields } from "./to-openai.ts";
