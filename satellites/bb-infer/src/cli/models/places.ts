import { stat } from "node:fs/promises";
import { join } from "node:path";
import { BytebotError } from "bytebot/sdk";
import { choose } from "../../choose.ts";
import { claims } from "../../open.ts";
import { priceOf } from "../../prices.ts";
import { isVendors, known, knownOf } from "../../remote/known.ts";
import { modelsFolder, pinned } from "../../weights/index.ts";
import { readModels, type Listed } from "../../listing.ts";

/** Local servers are asked for so long, hosted ones for so long, in milliseconds. */
const LOCAL_MS = 500;
const HOSTED_MS = 10_000;
/** So many models at once are asked what they can do, and of one server so many in all. */
const AT_ONCE = 4;
const ASKED = 50;

/** Of what vendors list: models that draw, speak, listen or measure instead of answering in words. */
const NO_CHAT = /whisper|tts|dall-e|image|moderation|realtime|audio|transcribe|sora|davinci|babbage/i;

/** US dollars for a million tokens. */
export interface ModelPrice {
  input: number;
  output: number;
}

export interface Model {
  id: string;
  context_tokens: number | null;
  /** As the satellite announces them; null: not looked at, of a server with very many models. */
  capabilities: Record<string, unknown> | null;
  /** Null: unknown. */
  price: ModelPrice | null;
}

/** Where models may be, and what was found there. */
export interface Place {
  provider: string;
  base_url: string | null;
  /** The variable that holds its key. */
  api_key_env: string | null;
  /** `no_key`: its variable is not set. `unlisted`: it has no list. `download`: not on disk yet. */
  state: "listed" | "no_key" | "silent" | "failed" | "unlisted" | "on_disk" | "download";
  error: string | null;
  models: Model[];
  /** There are more than were read. */
  more: boolean;
}

export interface Wanted {
  provider?: string | undefined;
  baseUrl?: string | undefined;
  keyEnv?: string | undefined;
}

/** What can be had from here: every place that is known, or the one that is wanted, all asked at once. */
export async function places(wanted: Wanted, env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<Place[]> {
  const { baseUrl } = wanted;
  if (wanted.provider === "embedded") return [await embedded(signal)];
  if (wanted.provider !== undefined || baseUrl !== undefined) {
    return [await remote({ ...wanted, provider: wanted.provider ?? "openai-compatible" }, { env, signal })];
  }
  const names = Object.keys(known).filter(
    (name) => known[name]?.keyEnv !== undefined || known[name]?.baseUrl !== undefined,
  );
  return Promise.all([...names.map((provider) => remote({ provider }, { env, signal })), embedded(signal)]);
}

async function remote(
  { provider, baseUrl, keyEnv }: Wanted & { provider: string },
  { env, signal }: { env: NodeJS.ProcessEnv; signal: AbortSignal },
): Promise<Place> {
  const own = knownOf(provider);
  const place = baseUrl ?? own.baseUrl;
  const isVendor = isVendors({ provider, baseUrl });
  // A vendor's key is for its own place alone.
  const name = keyEnv ?? (isVendor ? own.keyEnv : undefined);
  const key = name === undefined ? undefined : env[name]?.trim();
  const about = { provider, base_url: place ?? null, api_key_env: name ?? null, error: null, models: [], more: false };
  if (name !== undefined && !key) return { ...about, state: "no_key" };
  if (place === undefined) return { ...about, state: "unlisted" };
  const style = own.format === "messages" ? "anthropic" : own.format === "gemini" ? "google" : "openai";
  const isGuess = baseUrl === undefined && !isVendor;
  try {
    const timeoutMs = isGuess ? LOCAL_MS : HOSTED_MS;
    const { models, more } = await readModels({ baseUrl: place, style, key, timeoutMs, signal });
    const shown = isVendor ? models.filter(({ id }) => !NO_CHAT.test(id)) : models;
    const reach = { provider, baseUrl, keyEnv: name };
    return { ...about, state: "listed", models: await described(shown, reach, { env, signal }), more };
  } catch (error) {
    if (!(error instanceof BytebotError) || error.code === "cancelled") throw error;
    return { ...about, state: isGuess ? "silent" : "failed", error: error.message };
  }
}

async function described(
  listed: readonly Listed[],
  { provider, baseUrl, keyEnv }: Wanted & { provider: string },
  { env, signal }: { env: NodeJS.ProcessEnv; signal: AbortSignal },
): Promise<Model[]> {
  const isVendor = isVendors({ provider, baseUrl });
  const described: Model[] = [];
  const one = async ({ id, contextTokens }: Listed, asked: boolean): Promise<Model> => {
    const opts = {
      provider,
      model: id,
      ...(baseUrl ? { base_url: baseUrl } : {}),
      ...(keyEnv ? { api_key_env: keyEnv } : {}),
    };
    const capabilities = asked ? (await claims(await choose(opts, { env, signal }), signal, env)).capabilities : null;
    const claimed = capabilities?.["context_tokens"];
    const price = isVendor ? await priceOf(knownOf(provider).prices, id) : undefined;
    return {
      id,
      context_tokens: contextTokens ?? (typeof claimed === "number" ? claimed : null),
      capabilities,
      price: price ?? null,
    };
  };
  for (let at = 0; at < listed.length; at += AT_ONCE) {
    const some = listed.slice(at, at + AT_ONCE);
    // A vendor's models are known by their names; others are asked.
    described.push(...(await Promise.all(some.map((model, index) => one(model, isVendor || at + index < ASKED)))));
  }
  return described;
}

/** The weights that need no configuration. */
async function embedded(signal: AbortSignal): Promise<Place> {
  const size = await stat(join(modelsFolder(), pinned.name)).then(
    (file) => file.size,
    () => undefined,
  );
  const { capabilities } = await claims(await choose({ provider: "embedded" }, { signal }), signal);
  const context = capabilities["context_tokens"];
  return {
    provider: "embedded",
    base_url: null,
    api_key_env: null,
    state: size === pinned.bytes ? "on_disk" : "download",
    error: null,
    models: [
      {
        id: pinned.name,
        context_tokens: typeof context === "number" ? context : null,
        capabilities,
        price: { input: 0, output: 0 },
      },
    ],
    more: false,
  };
}
