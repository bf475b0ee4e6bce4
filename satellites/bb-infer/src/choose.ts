import { BytebotError } from "bytebot/sdk";
import { listModels } from "./models.ts";
import { toOptions, type Options } from "./options.ts";

/** Which model answers, and why this one. `model` of an embedded choice: undefined means the built-in weights. */
export type Choice = { why: string; params: Record<string, unknown> } & (
  | { provider: "embedded"; model: string | undefined }
  | {
      provider: "openai-compatible";
      model: string;
      baseUrl: string;
      keyEnv: string | undefined;
      headers: Record<string, string>;
    }
);

export interface ChooseOptions {
  env?: NodeJS.ProcessEnv | undefined;
  signal?: AbortSignal | undefined;
  /** Where to look for local servers; absent: Ollama's and llama-server's usual places. */
  local?: readonly { name: string; baseUrl: string }[] | undefined;
}

/** Servers that need only a key. The models are the current middle ones; `opts.model` names another. */
const hosted = [
  {
    name: "Anthropic",
    keyEnv: "ANTHROPIC_API_KEY",
    baseUrl: "https://api.anthropic.com/v1",
    model: "claude-sonnet-4-6",
  },
  { name: "OpenAI", keyEnv: "OPENAI_API_KEY", baseUrl: "https://api.openai.com/v1", model: "gpt-5-mini" },
] as const;

const localServers = [
  { name: "Ollama", baseUrl: "http://127.0.0.1:11434/v1" },
  { name: "llama-server", baseUrl: "http://127.0.0.1:8080/v1" },
];

/**
 * The first of: what `opts` says, ANTHROPIC_API_KEY, OPENAI_API_KEY, a local Ollama or llama-server, the embedded model.
 * Looks at local ports only, at all of them at once, for half a second. Rejects with `invalid_params` or `unavailable` and the fix.
 */
export async function choose(opts: Record<string, unknown> = {}, options: ChooseOptions = {}): Promise<Choice> {
  const { env = process.env, local = localServers } = options;
  const signal = options.signal ?? new AbortController().signal;
  const given = toOptions(opts);
  const { model, base_url: baseUrl, api_key_env: keyEnv, headers = {}, params = {} } = given;
  if (isEmbedded(given)) return { provider: "embedded", model, params, why: "opts say so" };
  const server = { provider: "openai-compatible", headers, params } as const;
  if (baseUrl !== undefined) {
    const known = hosted.find((one) => baseUrl.startsWith(one.baseUrl));
    const found = model ?? known?.model ?? (await firstModel(baseUrl, { keyEnv, env, headers, signal }));
    return {
      ...server,
      model: found,
      baseUrl: trimmed(baseUrl),
      keyEnv: keyEnv ?? known?.keyEnv,
      why: "opts.base_url is set",
    };
  }
  // A model's name alone belongs to whoever has it: Claude models are Anthropic's, others not.
  const fits = ({ name }: { name: string }) =>
    model === undefined || (name === "Anthropic") === model.startsWith("claude");
  const withKey = hosted.find((one) => env[one.keyEnv] && fits(one));
  if (withKey) {
    const { keyEnv, baseUrl, name } = withKey;
    return { ...server, model: model ?? withKey.model, baseUrl, keyEnv, why: `${keyEnv} is set (${name})` };
  }
  const asked = local.map(async (one) => ({
    ...one,
    models: await listModels(one.baseUrl, { signal, timeoutMs: 500 }),
  }));
  for (const { name, baseUrl, models } of await Promise.all(asked)) {
    const found = model === undefined ? models[0] : models.find((id) => id === model || id === `${model}:latest`);
    if (found) return { ...server, model: found, baseUrl, keyEnv: undefined, why: `${name} runs at ${baseUrl}` };
  }
  if (model === undefined && given.provider === undefined) {
    return { provider: "embedded", model: undefined, params, why: "no key is set and no local server runs" };
  }
  throw nowhere(given);
}

function isEmbedded({ provider, model, base_url }: Options): boolean {
  return (
    provider === "embedded" || (provider === undefined && base_url === undefined && /\.gguf$|^hf:/i.test(model ?? ""))
  );
}

async function firstModel(
  baseUrl: string,
  {
    keyEnv,
    env,
    headers,
    signal,
  }: { keyEnv: string | undefined; env: NodeJS.ProcessEnv; headers: Record<string, string>; signal: AbortSignal },
): Promise<string> {
  const key = keyEnv === undefined ? undefined : env[keyEnv];
  const all = { ...headers, ...(key ? { authorization: `Bearer ${key}` } : {}) };
  const [found] = await listModels(baseUrl, { signal, timeoutMs: 5_000, headers: all });
  if (found) return found;
  throw new BytebotError(
    "invalid_params",
    `${baseUrl} does not say which models it has: set opts.model, and check that the server runs`,
  );
}

function nowhere({ model }: Options): BytebotError {
  const what = model === undefined ? "a server is asked for" : `the model ${model} is asked for`;
  return new BytebotError(
    "unavailable",
    `${what}, and none is known that has it: set opts.base_url, set ANTHROPIC_API_KEY or OPENAI_API_KEY, or start Ollama with it`,
  );
}

function trimmed(url: string): string {
  return url.replace(/\/+$/, "");
}
