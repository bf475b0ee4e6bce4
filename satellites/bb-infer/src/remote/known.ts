import { BytebotError } from "bytebot/sdk";
import type { Format } from "./end-mark.ts";

/** What is known of a provider by its name; a name that is not here is that of an npm package. */
export interface Known {
  /** The package that speaks to it, and what of it makes a provider. */
  package: string;
  factory: string;
  /** Where it is, where `base_url` says nothing. Absent: as its package has it. */
  baseUrl?: string;
  /** Absent: it wants no key. */
  keyEnv?: string;
  /** What else it reads of the environment. */
  env?: readonly string[];
  /** The current middle one; `opts.model` names another. */
  model?: string;
  format: Format;
  /** Media it takes, as MIME types. */
  media: readonly string[];
  /** Whose prices. */
  prices?: string;
  /** Where a mark that ends a cached prefix goes. */
  marks?: { option: string; field: string; value: (ttl: "1h" | undefined) => object };
}

const PICTURES = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const compatible = {
  package: "@ai-sdk/openai-compatible",
  factory: "createOpenAICompatible",
  format: "chat",
  media: ["image/*", "audio/wav", "audio/mp3", "audio/mpeg", "application/pdf"],
} as const;

export const known: Readonly<Record<string, Known>> = {
  anthropic: {
    package: "@ai-sdk/anthropic",
    factory: "createAnthropic",
    baseUrl: "https://api.anthropic.com/v1",
    keyEnv: "ANTHROPIC_API_KEY",
    model: "claude-sonnet-4-6",
    format: "messages",
    media: [...PICTURES, "application/pdf", "text/plain"],
    prices: "anthropic",
    marks: {
      option: "anthropic",
      field: "cacheControl",
      value: (ttl) => ({ type: "ephemeral", ...(ttl ? { ttl } : {}) }),
    },
  },
  openai: {
    package: "@ai-sdk/openai",
    factory: "createOpenAI",
    baseUrl: "https://api.openai.com/v1",
    keyEnv: "OPENAI_API_KEY",
    model: "gpt-5-mini",
    format: "responses",
    media: [...PICTURES, "application/pdf"],
    prices: "openai",
  },
  google: {
    package: "@ai-sdk/google",
    factory: "createGoogle",
    baseUrl: "https://generativelanguage.googleapis.com/v1beta",
    keyEnv: "GOOGLE_GENERATIVE_AI_API_KEY",
    model: "gemini-2.5-flash",
    format: "gemini",
    media: ["image/*", "audio/*", "video/*", "application/pdf", "text/plain"],
    prices: "google",
  },
  "amazon-bedrock": {
    package: "@ai-sdk/amazon-bedrock",
    factory: "createAmazonBedrock",
    keyEnv: "AWS_BEARER_TOKEN_BEDROCK",
    env: ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION"],
    format: "converse",
    media: [...PICTURES, "application/pdf", "text/plain"],
    prices: "aws",
    marks: {
      option: "amazonBedrock",
      field: "cachePoint",
      value: (ttl) => ({ type: "default", ...(ttl ? { ttl } : {}) }),
    },
  },
  "openai-compatible": compatible,
  ollama: { ...compatible, baseUrl: "http://127.0.0.1:11434/v1" },
  "llama-server": { ...compatible, baseUrl: "http://127.0.0.1:8080/v1" },
  lmstudio: { ...compatible, baseUrl: "http://127.0.0.1:1234/v1" },
  vllm: { ...compatible, baseUrl: "http://127.0.0.1:8000/v1" },
};

/** What is known of a provider; of any other name that it is a package, which is asked for what makes a provider. */
export function knownOf(provider: string): Known {
  const found = Object.hasOwn(known, provider) ? known[provider] : undefined;
  return found ?? { package: provider, factory: "", format: "other", media: [...PICTURES, "application/pdf"] };
}

/** One of the media types, or `image/*`, as an expression for a block's MIME type. */
export function mediaOf(types: readonly string[]): RegExp {
  const escaped = types.map((type) => type.replaceAll(/[.+]/g, String.raw`\$&`).replace("*", ".+"));
  return new RegExp(`^(?:${escaped.join("|")})$`);
}

/** `openai` speaks two formats; nothing else does. Throws `invalid_params`. */
export function formatOf(provider: string, api: "responses" | "chat" | undefined): Format {
  const { format } = knownOf(provider);
  if (api === undefined) return format;
  if (provider !== "openai") {
    throw new BytebotError(
      "invalid_params",
      `bb-infer: opts.api is for the provider "openai", and this is ${provider}`,
    );
  }
  return api;
}

/** Is it at its vendor's own place, where what is documented of it holds? A server of one's own may be anything. */
export function isVendors({ provider, baseUrl }: { provider: string; baseUrl: string | undefined }): boolean {
  const { keyEnv, baseUrl: own } = knownOf(provider);
  return keyEnv !== undefined && (baseUrl === undefined || baseUrl === own);
}

/** What a provider reads of the environment, for an app that passes it on; `keyEnv` in place of its own. */
export function variablesOf(provider: string, keyEnv = knownOf(provider).keyEnv): string[] {
  return [...(keyEnv === undefined ? [] : [keyEnv]), ...(knownOf(provider).env ?? [])];
}

/**
 * The variable that a provider's own key is in, where it may be sent: to its vendor. Whatever else is at `baseUrl` gets a key
 * only where the app names one.
 */
export function ownKeyOf(at: { provider: string; baseUrl: string | undefined }): string | undefined {
  return isVendors(at) ? knownOf(at.provider).keyEnv : undefined;
}
