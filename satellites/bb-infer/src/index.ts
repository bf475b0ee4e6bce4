import * as bb from "bytebot/sdk";
import { choose, type Choice } from "./choose.ts";
import { claims, open } from "./open.ts";
import type { Claimed } from "./remote/claims.ts";
import { Opened } from "./opened.ts";
import { toOptions } from "./options.ts";
import type { Provider } from "./provider.ts";
import { until } from "./until.ts";
import type { Progress } from "./weights/index.ts";

export { choose, type Choice, type ChooseOptions } from "./choose.ts";
export { claims, open, type OpenOptions } from "./open.ts";
export { toOptions, type Options } from "./options.ts";
export { listModels } from "./models.ts";
export { variablesOf } from "./remote/known.ts";
export { openRemote, type RemoteOptions } from "./remote/provider.ts";
export type { InferContext, Provider } from "./provider.ts";
export { modelsFolder, pinned, prepareWeights, type Progress, type WeightsOptions } from "./weights/index.ts";

/**
 * The infer satellite. It announces what the chosen model can do, and loads it after the handshake: that may take a minute,
 * and a request that comes meanwhile waits for it. What goes wrong then is the answer to that request, and the next one
 * tries again; a server that is not there yet may be so by then.
 */
export async function main({ opts, signal }: Parameters<bb.Main>[0]): Promise<void> {
  const chosen = await chosenNow(opts, signal);
  const capabilities = chosen?.claimed.capabilities ?? claimedBy(opts);
  const satellite = await bb.sync({ kind: "infer", name: "bb-infer", capabilities, signal });
  const model = new Opened((closing) => start(opts, AbortSignal.any([satellite.signal, closing]), chosen));
  // Loaded before it is asked for; a failure is told to whoever asks.
  void model.get().catch(() => undefined);
  satellite.onInfer(async (request, reply, context) => {
    const provider = await until(model.get(), context.signal);
    const { scope, messages } = request;
    const { media: types } = provider;
    // The bytes of a blob travel apart: a server has to be sent them.
    const whole = types ? await satellite.resolveBlobs(scope, messages, { types, signal: context.signal }) : messages;
    return provider.infer({ ...request, messages: whole }, reply, {
      signal: context.signal,
      drained: () => satellite.drained(),
    });
  });
  try {
    await satellite.start();
  } finally {
    await model.close();
  }
}

interface Chosen {
  choice: Choice;
  claimed: Claimed;
}

/** The model and what it can do; undefined where none can be had yet, which a later request may find otherwise. */
async function chosenNow(opts: Record<string, unknown>, signal: AbortSignal): Promise<Chosen | undefined> {
  try {
    const choice = await choose(opts, { signal });
    return { choice, claimed: await claims(choice, signal) };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof bb.BytebotError && error.code === "invalid_params") throw error;
    return undefined;
  }
}

/** What the app itself says of a model that is not there yet. */
function claimedBy(opts: Record<string, unknown>): Record<string, unknown> {
  const { tools, capabilities } = toOptions(opts);
  return { api_shape: "anthropic", tools: typeof tools === "object" ? tools : { native: {} }, ...capabilities };
}

async function start(opts: Record<string, unknown>, signal: AbortSignal, chosen?: Chosen): Promise<Provider> {
  const choice = chosen?.choice ?? (await choose(opts, { signal }));
  const onProgress = tenths((line) => console.error(`bb-infer: ${line}`));
  return open(choice, { signal, claimed: chosen?.claimed, onProgress });
}

/** Progress as a line at every tenth, for a log. */
function tenths(print: (line: string) => void): (progress: Progress) => void {
  let last = "";
  return ({ stage, done, total }) => {
    const percent = total > 0 ? `${Math.floor((10 * done) / total) * 10} %` : "";
    const line = `${stage} the model's weights ${percent}`.trim();
    if (line !== last) print(line);
    last = line;
  };
}
