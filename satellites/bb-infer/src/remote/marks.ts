import type { LanguageModelV4Message, LanguageModelV4Prompt, SharedV4ProviderOptions } from "@ai-sdk/provider";
import type { Known } from "./known.ts";

/** Where cached prefixes end: "auto" by the rule below, "1h" too, kept for an hour; "off": nowhere. */
export type Cache = "auto" | "1h" | "off";

/**
 * Marks a prompt's cached prefixes, for providers that want them marked: the end of the system text, which covers the tools
 * before it, of the last message, and of the message from which the last request went on. What does not change between two
 * rounds is so found again, and what is new is kept for the next one. Three marks; Anthropic allows four.
 */
export function marked(prompt: LanguageModelV4Prompt, marks: Known["marks"], cache: Cache): LanguageModelV4Prompt {
  if (!marks || cache === "off") return prompt;
  const options = {
    [marks.option]: { [marks.field]: marks.value(cache === "1h" ? "1h" : undefined) },
  } as SharedV4ProviderOptions;
  const said = prompt.flatMap(({ role }, at) => (role === "user" || role === "tool" ? [at] : []));
  const chosen = new Set([prompt.findIndex(({ role }) => role === "system"), ...said.slice(-2)]);
  return prompt.map((message, at): LanguageModelV4Message =>
    chosen.has(at) ? { ...message, providerOptions: options } : message,
  );
}
