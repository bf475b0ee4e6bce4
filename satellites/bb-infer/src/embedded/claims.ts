import { basename } from "node:path";
import type { Options } from "../options.ts";
import { pinned } from "../weights/pinned.ts";
import { toParams } from "./params.ts";

/** What the embedded model can do: calls and structured output by grammar, whatever it has learned; no media, no thoughts. */
export function embeddedClaims(
  model: string | undefined,
  { params = {}, tools }: Pick<Options, "params" | "tools">,
): Record<string, unknown> {
  return {
    api_shape: "anthropic",
    model: model === undefined ? pinned.name : basename(model),
    // A model that was trained on a dialect may do better in it: then the Hub writes and reads the calls.
    tools: typeof tools === "object" ? tools : { native: {} },
    structured_output: {},
    media: [],
    prompt_cache: {},
    context_tokens: toParams(params).contextSize,
  };
}
