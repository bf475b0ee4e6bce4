import { basename } from "node:path";
import { pinned } from "../weights/pinned.ts";
import { toParams } from "./params.ts";

/** What the embedded model can do: calls and structured output by grammar, whatever it has learned; no media, no thoughts. */
export function embeddedClaims(model: string | undefined, params: Record<string, unknown>): Record<string, unknown> {
  return {
    api_shape: "anthropic",
    model: model === undefined ? pinned.name : basename(model),
    tools: { native: {} },
    media: [],
    prompt_cache: {},
    context_tokens: toParams(params).contextSize,
  };
}
