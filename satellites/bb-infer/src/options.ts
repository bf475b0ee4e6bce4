import { BytebotError } from "bytebot/sdk";
import { z } from "zod";
import { known } from "./remote/known.ts";

const positive = z.number().positive();
/** A timer of Node's that is set to more goes off at once. */
const milliseconds = positive.max(2 ** 31 - 1, "at most 2147483647 milliseconds (24 days) can be waited");
const Price = z.strictObject({
  input: z.number().nonnegative(),
  output: z.number().nonnegative(),
  cache_read: z.number().nonnegative().optional(),
  cache_write: z.number().nonnegative().optional(),
});

const NO_NAME =
  "this is no variable's name in capitals, as in OPENAI_API_KEY: write the name, and set the key in the environment";

/** What one model is reached by. */
const reach = {
  /** A name of the table in the README, or an npm package's. */
  provider: z
    .string()
    .regex(
      /^(?:@[\w.-]+\/)?[\w.-]+$/,
      `one of embedded, ${Object.keys(known).join(", ")}, or an npm package's name is needed`,
    )
    .optional(),
  /** For `embedded` a GGUF path or `hf:user/repo/file.gguf`, else the server's name for the model. */
  model: z.string().min(1, "a text is needed").optional(),
  base_url: z
    .string()
    .refine((url) => !url.includes("@"), {
      message:
        "it may hold no user name and no password: put the key in the environment, and its variable's name in api_key_env",
    })
    .refine((url) => /^https?:\/\//.test(url) && URL.canParse(url), {
      message: "a URL is needed, as in http://127.0.0.1:8080/v1",
    })
    .optional(),
  // The commonest slip is the key itself, and a key of letters and digits looks like a name in small letters.
  api_key_env: z
    .string(NO_NAME)
    .regex(/^[A-Z_][A-Z0-9_]*$/, NO_NAME)
    .optional(),
  api: z.enum(["responses", "chat"]).optional(),
  headers: z.record(z.string(), z.string(), "an object of texts is needed").optional(),
  params: z.record(z.string(), z.unknown(), `an object is needed, as in {"temperature":0.2}`).optional(),
  settings: z
    .record(z.string(), z.unknown(), "an object is needed: what else the provider's package takes")
    .refine((settings) => !Object.keys(settings).some((name) => /key|token|secret|credential/i.test(name)), {
      message: "keys come from the environment: name the variable in api_key_env, or let AWS_… be there",
    })
    .optional(),
  cache: z.enum(["auto", "1h", "off"]).optional(),
  tools: z
    .union(
      [z.literal("native"), z.strictObject({ xml: z.strictObject({ dialect: z.enum(["invoke", "hermes", "qwen"]) }) })],
      `"native" or {"xml":{"dialect":"invoke"}} is needed`,
    )
    .optional(),
  capabilities: z.record(z.string(), z.unknown(), "an object is needed").optional(),
};

const Fallback = z.strictObject(reach);

/** What an app passes to this component. Keys never: only the name of the variable that holds one. */
const OptionsShape = z.strictObject({
  ...reach,
  /** Who answers, in this order, where the one before fails before its first chunk. A text: another model of the same provider. */
  fallbacks: z
    .array(z.union([z.string().min(1), Fallback]))
    .max(8)
    .optional(),
  retry: z
    .strictObject({ tries: z.int().min(1).max(10), first_ms: milliseconds, longest_ms: milliseconds })
    .partial()
    .optional(),
  timeouts: z
    .strictObject({ first_ms: milliseconds, idle_ms: milliseconds, total_ms: milliseconds })
    .partial()
    .optional(),
  rate: z
    .strictObject({ at_once: z.int().min(1), requests_per_minute: positive, tokens_per_minute: positive })
    .partial()
    .optional(),
  budget: z.strictObject({ tokens: positive, cost_usd: positive }).partial().optional(),
  /** US dollars for a million tokens, by patterns of model names; in place of the built-in table. */
  prices: z.record(z.string(), Price).optional(),
});
export type Options = z.infer<typeof OptionsShape>;
/** One model's own. */
export type Reach = z.infer<typeof Fallback>;

/** Throws `invalid_params`, naming the option and what it should be. A value that may be a key is not repeated. */
export function toOptions(opts: Record<string, unknown>): Options {
  const result = OptionsShape.safeParse(opts);
  if (result.success) return result.data;
  const [issue] = result.error.issues as [z.core.$ZodIssue];
  throw new BytebotError("invalid_params", `bb-infer: opts${said(issue, opts)}`);
}

function said(issue: z.core.$ZodIssue, opts: unknown): string {
  if (issue.code === "unrecognized_keys") {
    const [name = ""] = issue.keys;
    // What is looked for in vain is often a place for the key.
    const fix = /key|token|secret/i.test(name)
      ? "keys come from the environment: name the variable in api_key_env"
      : "leave it out";
    const names = issue.path.length === 0 ? `; there are ${Object.keys(OptionsShape.shape).join(", ")}` : "";
    return `${at([...issue.path, name])}: there is no such option; ${fix}${names}`;
  }
  const value = valueAt(opts, issue.path);
  const isSecret =
    issue.path.includes("settings") ||
    issue.path.includes("api_key_env") ||
    issue.path.includes("headers") ||
    /@/.test(String(value));
  const what = isSecret || value === undefined ? ":" : ` is ${JSON.stringify(value)?.slice(0, 80)}:`;
  return `${at(issue.path)}${what} ${issue.message}`;
}

function at(path: readonly PropertyKey[]): string {
  return path.map((part) => (typeof part === "number" ? `[${part}]` : `.${String(part)}`)).join("");
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let found = value;
  for (const part of path) found = (found as Record<PropertyKey, unknown> | undefined)?.[part];
  return found;
}
