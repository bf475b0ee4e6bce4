import { basename } from "node:path";
import type { Options } from "../options.ts";
import { pinned } from "../weights/pinned.ts";
import { toParams } from "./params.ts";

/** What the embedded model can do: calls and structured output by grammar, whatever it has learned; no media, no thoughts. */
export function embeddedClaims(
  model: string | undefined,
  { params = {}, tools }: Pick<Options, "params" | "tools">,
): Record<string, unknown> {
  const name = model === undefined ? pinned.name : basename(model);
  const { contextSize } = toParams(params);
  return {
    api_shape: "anthropic",
    model: name,
    // A model that was trained on a dialect may do better in it: then the Hub writes and reads the calls.
    tools: typeof tools === "object" ? tools : { native: {} },
    structured_output: {},
    media: [],
    prompt_cache: {},
    // Of another file it is known once it is loaded, which the handshake does not wait for.
    context_tokens: name === pinned.name ? Math.min(contextSize, pinned.context) : contextSize,
  };
}
