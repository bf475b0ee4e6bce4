import { BytebotError } from "bytebot/sdk";

/** What an app passes to this component, checked. Keys never: only the name of the variable that holds one. */
export interface Options {
  provider?: "embedded" | "openai-compatible" | undefined;
  /** For `embedded` a GGUF path or `hf:user/repo/file.gguf`, else the server's name for the model. */
  model?: string | undefined;
  base_url?: string | undefined;
  api_key_env?: string | undefined;
  params?: Record<string, unknown> | undefined;
  headers?: Record<string, string> | undefined;
}

const names = ["provider", "model", "base_url", "api_key_env", "params", "headers"];

/** Throws `invalid_params`, naming the option and what it should be. */
export function toOptions(opts: Record<string, unknown>): Options {
  const refused = (name: string, why: string) => new BytebotError("invalid_params", `bb-infer: opts.${name}: ${why}`);
  const wrong = (name: string, needed: string) =>
    new BytebotError("invalid_params", `bb-infer: opts.${name} is ${JSON.stringify(opts[name])}: ${needed}`);
  for (const name of Object.keys(opts)) {
    // Its value is not repeated: what is looked for in vain is often a place for the key.
    if (!names.includes(name)) {
      const fix = /key|token|secret/i.test(name)
        ? "keys come from the environment: name the variable in api_key_env"
        : "";
      throw refused(name, ["there is no such option", fix, `there are ${names.join(", ")}`].filter(Boolean).join("; "));
    }
  }
  for (const name of ["model", "base_url"]) {
    const value = opts[name];
    if (value !== undefined && (typeof value !== "string" || value === "")) throw wrong(name, "a text is needed");
  }
  const { provider, base_url, api_key_env, params = {}, headers = {} } = opts;
  if (provider !== undefined && provider !== "embedded" && provider !== "openai-compatible") {
    throw wrong("provider", `"embedded" or "openai-compatible" is needed`);
  }
  if (typeof base_url === "string" && base_url.includes("@")) {
    throw refused(
      "base_url",
      "it may hold no user name and no password: put the key in the environment, and its variable's name in api_key_env",
    );
  }
  if (typeof base_url === "string" && !(/^https?:\/\//.test(base_url) && URL.canParse(base_url)))
    throw wrong("base_url", "a URL is needed, as in http://127.0.0.1:8080/v1");
  // The commonest slip is the key itself, and a key of letters and digits looks like a name in small letters.
  if (api_key_env !== undefined && !(typeof api_key_env === "string" && /^[A-Z_][A-Z0-9_]*$/.test(api_key_env))) {
    throw refused(
      "api_key_env",
      "this is no variable's name in capitals, as in OPENAI_API_KEY: write the name, and set the key in the environment",
    );
  }
  if (!isRecord(params)) throw wrong("params", `an object is needed, as in {"temperature":0.2}`);
  if (!isRecord(headers) || !Object.values(headers).every((value) => typeof value === "string")) {
    throw refused("headers", "an object of texts is needed");
  }
  return { ...opts, params, headers } as Options;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
