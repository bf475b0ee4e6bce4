import { BytebotError } from "bytebot/sdk";
import { listModels } from "./models.ts";
import { toOptions, type Options, type Reach } from "./options.ts";
import { known, knownOf, ownKeyOf } from "./remote/known.ts";

/** A GGUF in this process; without a name the built-in weights. */
interface Embedded {
  kind: "embedded";
  provider: "embedded";
  model: string | undefined;
}

interface Remote {
  kind: "remote";
  provider: string;
  model: string;
  /** Undefined: where its package has it. */
  baseUrl: string | undefined;
  keyEnv: string | undefined;
}

/** Which model answers, and why this one. */
export type Choice = (Embedded | Remote) & { why: string; options: Options };

export interface ChooseOptions {
  env?: NodeJS.ProcessEnv | undefined;
  signal?: AbortSignal | undefined;
  /** Where to look for local servers; absent: the usual places of Ollama and llama-server. */
  local?: readonly { name: string; baseUrl: string }[] | undefined;
}

/** Vendors in the order in which their keys are looked for, with the beginning of their models' names. */
const vendors = [
  { provider: "anthropic", name: "Anthropic", models: /^claude/ },
  { provider: "openai", name: "OpenAI", models: /^(?:gpt|o\d|chatgpt)/ },
  { provider: "google", name: "Google", models: /^gemini/ },
] as const;

const localServers = [
  { name: "Ollama", baseUrl: "http://127.0.0.1:11434/v1" },
  { name: "llama-server", baseUrl: "http://127.0.0.1:8080/v1" },
];

/**
 * The first of: what `opts` says, ANTHROPIC_API_KEY, OPENAI_API_KEY, GOOGLE_GENERATIVE_AI_API_KEY, a local Ollama or
 * llama-server, the embedded model. Looks at local ports only, at all of them at once, for half a second. Rejects with
 * `invalid_params` or `unavailable` and the fix.
 */
export async function choose(opts: Record<string, unknown> = {}, options: ChooseOptions = {}): Promise<Choice> {
  const given = toOptions(opts);
  return { ...(await chosen(given, options)), options: given };
}

/** Which model a fallback of these options is. */
export async function chooseFallback(
  fallback: string | Reach,
  first: Choice,
  options: ChooseOptions = {},
): Promise<Choice> {
  const own: Reach = typeof fallback === "string" ? { ...reachOf(first), model: fallback } : fallback;
  return { ...(await chosen(own, options)), options: own };
}

/** How the first model is reached: a fallback that is only a name is reached so too. */
function reachOf(choice: Choice): Reach {
  const { api, headers, params, settings, cache } = choice.options;
  const given = { api, headers, params, settings, cache };
  const { baseUrl: base_url, keyEnv: api_key_env } = choice.kind === "remote" ? choice : {};
  return clean({ ...given, provider: choice.provider, base_url, api_key_env });
}

async function chosen(given: Reach, options: ChooseOptions): Promise<(Embedded | Remote) & { why: string }> {
  if (isEmbedded(given)) return { kind: "embedded", provider: "embedded", model: given.model, why: "opts say so" };
  const { env = process.env, local = localServers } = options;
  const signal = options.signal ?? new AbortController().signal;
  const { model, base_url, headers = {} } = given;
  const baseUrl = base_url === undefined ? undefined : trimmed(base_url);
  const provider = given.provider ?? (baseUrl === undefined ? undefined : providerAt(baseUrl));
  // Without a place of its own, "openai-compatible" is whatever is found, as if no provider were named.
  if (provider !== undefined && !(provider === "openai-compatible" && baseUrl === undefined)) {
    const { baseUrl: own, model: usual } = knownOf(provider);
    const key = given.api_key_env ?? ownKeyOf({ provider, baseUrl });
    const place = baseUrl ?? own;
    const isOwn = baseUrl === undefined || baseUrl === own;
    const ask = { keyEnv: key, env, headers, signal };
    const found = model ?? (isOwn ? usual : undefined) ?? (place && (await firstModel(place, provider, ask)));
    if (found === undefined || found === "") throw noModel(provider);
    const why = baseUrl === undefined ? `opts.provider is "${provider}"` : "opts.base_url is set";
    return { kind: "remote", provider, model: found, baseUrl: place, keyEnv: key, why };
  }
  // A model's name alone belongs to whoever has it.
  const fits = ({ models }: (typeof vendors)[number]) => model === undefined || models.test(model);
  const withKey = vendors.find((one) => env[known[one.provider]?.keyEnv ?? ""] && fits(one));
  if (withKey && given.provider === undefined) {
    const { keyEnv, baseUrl: place, model: usual } = knownOf(withKey.provider);
    const why = `${keyEnv} is set (${withKey.name})`;
    const { provider } = withKey;
    return { kind: "remote", provider, model: model ?? (usual as string), baseUrl: place, keyEnv, why };
  }
  const asked = local.map(async (one) => ({
    ...one,
    models: await listModels(one.baseUrl, { signal, timeoutMs: 500 }),
  }));
  for (const { name, baseUrl, models } of await Promise.all(asked)) {
    const found = model === undefined ? models[0] : models.find((id) => id === model || id === `${model}:latest`);
    if (found) {
      const why = `${name} runs at ${baseUrl}`;
      const provider = "openai-compatible";
      return { kind: "remote", provider, model: found, baseUrl, keyEnv: given.api_key_env, why };
    }
  }
  if (model === undefined && given.provider === undefined) {
    const why = "no key is set and no local server runs";
    return { kind: "embedded", provider: "embedded", model: undefined, why };
  }
  throw nowhere(given);
}

/** A vendor's own place is its provider's; anything else speaks OpenAI's format. */
function providerAt(baseUrl: string): string {
  const found = vendors.find(({ provider }) => known[provider]?.baseUrl === baseUrl);
  return found?.provider ?? "openai-compatible";
}

function isEmbedded({ provider, model, base_url }: Reach): boolean {
  return (
    provider === "embedded" || (provider === undefined && base_url === undefined && /\.gguf$|^hf:/i.test(model ?? ""))
  );
}

async function firstModel(
  baseUrl: string,
  provider: string,
  {
    keyEnv,
    env,
    headers,
    signal,
  }: { keyEnv: string | undefined; env: NodeJS.ProcessEnv; headers: Record<string, string>; signal: AbortSignal },
): Promise<string> {
  const key = keyEnv === undefined ? undefined : env[keyEnv];
  const all = { ...headers, ...(key ? { authorization: `Bearer ${key}` } : {}) };
  const [found] = await listModels(baseUrl, { signal, timeoutMs: 1_000, headers: all });
  if (found) return found;
  throw new BytebotError(
    "unavailable",
    `${baseUrl} does not say which models it has: set opts.model, and check that the server (${provider}) runs`,
  );
}

function noModel(provider: string): BytebotError {
  return new BytebotError("invalid_params", `opts.model is not set, and ${provider} has no usual one: name a model`);
}

function nowhere({ model }: Reach): BytebotError {
  const what = model === undefined ? "a server is asked for" : `the model ${model} is asked for`;
  return new BytebotError(
    "unavailable",
    `${what}, and none is known that has it: set opts.base_url or opts.provider, set ANTHROPIC_API_KEY or OPENAI_API_KEY, or start Ollama with it`,
  );
}

function trimmed(url: string): string {
  return url.replace(/\/+$/, "");
}

function clean<T extends object>(fields: T): Reach {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Reach;
}
