import type { Options } from "../options.ts";
import { contextOf } from "../prices.ts";
import { formatOf, isVendors, knownOf } from "./known.ts";
import { probe, type Told } from "./probe.ts";

/** What the satellite says a model can do; what is not known is not said. */
export type Claims = Record<string, unknown>;

export interface Claimed {
  capabilities: Claims;
  /** MIME types; undefined: as its provider takes them. */
  media: readonly string[] | undefined;
}

/** Models that think, by their families. */
const thinks: Readonly<Record<string, RegExp>> = {
  anthropic: /claude-(?:3-7|[a-z]+-[4-9])/,
  "amazon-bedrock": /claude-(?:3-7|[a-z]+-[4-9])|deepseek|gpt-oss/,
  openai: /^(?:o\d|gpt-[5-9])/,
  google: /gemini-(?:2\.5|[3-9])/,
};

/**
 * What is announced of a model behind HTTP: what its vendor documents for all its models of today, and of a server of one's
 * own what it says itself. `opts.tools` and `opts.capabilities` are the app's own word, which goes before.
 */
export async function claimsOf(
  { provider, model, baseUrl, api, tools, capabilities, headers, keyEnv, env = process.env }: ClaimOptions,
  signal: AbortSignal,
): Promise<Claimed> {
  const { baseUrl: own, prices, marks, media } = knownOf(provider);
  const place = baseUrl ?? own;
  const isVendor = isVendors({ provider, baseUrl });
  // A guarded server says little without its key.
  const key = keyEnv === undefined ? undefined : env[keyEnv]?.trim();
  const sent = { ...(key ? { authorization: `Bearer ${key}` } : {}), ...headers };
  const told: Told = isVendor || !place ? {} : await probe(provider, place, model, { headers: sent, signal });
  const taken = isVendor ? media : mediaTold(told);
  const context = told.contextTokens ?? (isVendor ? await contextOf(prices, model) : undefined);
  const thinking = isVendor ? thinks[provider]?.test(model) : told.thinking;
  // Where a format has no field for it, its package asks for a call instead.
  const structured = isVendor || told.structured || formatOf(provider, api) === "messages";
  const cache = told.cache ?? (isVendor && (marks !== undefined || provider === "openai" || provider === "google"));
  return {
    capabilities: withOwn(capabilities, {
      api_shape: "anthropic",
      model,
      tools: toolsOf(tools, told),
      ...(taken ? { media: taken } : {}),
      ...(thinking ? { thinking: {} } : {}),
      ...(structured ? { structured_output: {} } : {}),
      ...(cache ? { prompt_cache: {} } : {}),
      ...(context === undefined ? {} : { context_tokens: context }),
    }),
    media: mediaOf(capabilities?.["media"]) ?? (isVendor ? undefined : taken),
  };
}

/** The app's own word goes before; where it is null, nothing is claimed. */
export function withOwn(own: Claims | undefined, claims: Claims): Claims {
  return Object.fromEntries(Object.entries({ ...claims, ...own }).filter(([, value]) => value !== null));
}

export interface ClaimOptions extends Pick<Options, "api" | "tools" | "capabilities" | "headers"> {
  provider: string;
  model: string;
  baseUrl: string | undefined;
  /** The variable with the key that the app names for this place. */
  keyEnv?: string | undefined;
  env?: NodeJS.ProcessEnv | undefined;
}

/** A model without tools of its own writes them as text, which the Hub reads (rule XML-1). */
function toolsOf(tools: Options["tools"], { tools: has }: Told): object {
  if (typeof tools === "object") return tools;
  return tools === "native" || has !== false ? { native: {} } : { xml: { dialect: "invoke" } };
}

function mediaTold({ images, audio }: Told): readonly string[] | undefined {
  if (images === undefined) return undefined;
  return [...(images ? ["image/*"] : []), ...(audio ? ["audio/wav", "audio/mp3", "audio/mpeg"] : [])];
}

function mediaOf(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) && value.every((one) => typeof one === "string") ? value : undefined;
}
