import type { Choice } from "./choose.ts";
import { openEmbedded } from "./embedded/provider.ts";
import { openAICompatible } from "./openai/provider.ts";
import type { Provider } from "./provider.ts";
import { prepareWeights, type Progress } from "./weights/index.ts";

export interface OpenOptions {
  signal: AbortSignal;
  onProgress?: ((progress: Progress) => void) | undefined;
}

/** A choice → what answers. The embedded model is downloaded where needed, and loaded. */
export async function open(choice: Choice, { signal, onProgress }: OpenOptions): Promise<Provider> {
  if (choice.provider === "openai-compatible") return openAICompatible(choice);
  const file = await prepareWeights({ model: choice.model, signal, onProgress });
  return openEmbedded({ file, params: choice.params, signal });
}
