import { BytebotError } from "bytebot/sdk";

/** Pages, and models in all, that are read of one server; bytes of one page. */
const PAGES = 10;
const MODELS = 2_000;
const PAGE_BYTES = 4 * 1024 * 1024;
/** Characters of a model's name; what is longer is none. */
const NAME = 512;

/** A model that a server lists. */
export interface Listed {
  id: string;
  /** Tokens that it reads at most, where the server says it. */
  contextTokens: number | undefined;
}

export interface Listing {
  models: Listed[];
  /** There are more than were read. */
  more: boolean;
}

export interface ListingOptions {
  /** Up to and without `/models`. */
  baseUrl: string;
  /** How it pages and takes its key: as Anthropic, as Gemini, or as OpenAI and everybody else. */
  style: "anthropic" | "google" | "openai";
  key: string | undefined;
  headers?: Record<string, string> | undefined;
  timeoutMs: number;
  signal: AbortSignal;
}

/** The models of one server, as far as it lists them. Rejects with `unavailable`, `unauthorized` or `not_found`, without the key. */
export async function readModels(options: ListingOptions): Promise<Listing> {
  const { style, timeoutMs, key } = options;
  // Sent as it is, it would come back whole in the error of `fetch`.
  if (key && !/^[\x20-\x7e]+$/.test(key)) {
    throw new BytebotError(
      "unauthorized",
      `${options.baseUrl}: the key holds a character that no key has: copy it again`,
    );
  }
  const late = AbortSignal.timeout(timeoutMs);
  const signal = AbortSignal.any([options.signal, late]);
  const models = new Map<string, Listed>();
  let next: string | undefined;
  try {
    for (let page = 0; page < PAGES; page++) {
      const body = await readPage(options, next, signal);
      for (const model of modelsOf(body, style)) if (models.size < MODELS) models.set(model.id, model);
      const last = next;
      next = nextOf(body, style);
      // A server that gives the same page for ever has no more than this one.
      if (next === undefined || next === last || models.size >= MODELS) break;
    }
  } catch (error) {
    options.signal.throwIfAborted();
    if (error instanceof BytebotError) throw error;
    const why = late.aborted ? `no answer within ${timeoutMs / 1000} s` : whyOf(error);
    throw new BytebotError("unavailable", `${options.baseUrl}: ${why}`, { cause: error });
  }
  return { models: [...models.values()], more: next !== undefined };
}

async function readPage(
  { baseUrl, style, key, headers }: ListingOptions,
  next: string | undefined,
  signal: AbortSignal,
) {
  const url = new URL(`${baseUrl.replace(/\/+$/, "")}/models`);
  if (style === "anthropic") url.searchParams.set("limit", "1000");
  if (style === "google") url.searchParams.set("pageSize", "1000");
  if (next !== undefined) url.searchParams.set(style === "google" ? "pageToken" : "after_id", next);
  const own = style === "anthropic" ? { "anthropic-version": "2023-06-01" } : {};
  // A redirect is not followed: the key would go along.
  const response = await fetch(url, {
    headers: { ...own, ...keyed(style, key), ...headers },
    signal,
    redirect: "manual",
  });
  try {
    if (!response.ok) throw refused(baseUrl, response.status);
    return parsed(await bytesOf(response, baseUrl), baseUrl);
  } finally {
    await response.body?.cancel().catch(() => undefined);
  }
}

function keyed(style: ListingOptions["style"], key: string | undefined): Record<string, string> {
  if (!key) return {};
  if (style === "anthropic") return { "x-api-key": key };
  return style === "google" ? { "x-goog-api-key": key } : { authorization: `Bearer ${key}` };
}

async function bytesOf(response: Response, baseUrl: string): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of response.body ?? []) {
    size += part.length;
    if (size > PAGE_BYTES) throw noList(baseUrl, `a list of more than ${PAGE_BYTES} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts);
}

function parsed(bytes: Buffer, baseUrl: string): Record<string, unknown> {
  try {
    const body: unknown = JSON.parse(bytes.toString("utf8"));
    if (isRecord(body) && (Array.isArray(body["data"]) || Array.isArray(body["models"]))) return body;
  } catch {
    // Said below.
  }
  throw noList(baseUrl, "what is no list of models");
}

/** Where servers write how much a model reads. */
const CONTEXTS = [
  "max_input_tokens",
  "inputTokenLimit",
  "max_model_len",
  "context_length",
  "context_window",
  "max_context_length",
];

/** Those that answer in words. */
function modelsOf(body: Record<string, unknown>, style: ListingOptions["style"]): Listed[] {
  const items = (Array.isArray(body["data"]) ? body["data"] : body["models"]) as unknown[];
  return items.filter(isRecord).flatMap((item) => {
    const { id = item["name"], supportedGenerationMethods: methods } = item;
    if (typeof id !== "string" || id === "" || id.length > NAME || /embed/i.test(id)) return [];
    if (Array.isArray(methods) && !methods.includes("generateContent")) return [];
    const meta = isRecord(item["meta"]) ? item["meta"] : {};
    const counts = [...CONTEXTS.map((name) => item[name]), meta["n_ctx"], meta["n_ctx_train"]];
    const contextTokens = counts.find((count): count is number => typeof count === "number" && count > 0);
    return [{ id: style === "google" ? id.replace(/^models\//, "") : id, contextTokens }];
  });
}

function nextOf(body: Record<string, unknown>, style: ListingOptions["style"]): string | undefined {
  const next = style === "google" ? body["nextPageToken"] : body["has_more"] === true ? body["last_id"] : undefined;
  return typeof next === "string" && next !== "" ? next : undefined;
}

function refused(baseUrl: string, status: number): BytebotError {
  if (status === 401 || status === 403)
    return new BytebotError("unauthorized", `${baseUrl} refuses the key (${status})`);
  if (status === 404) return new BytebotError("not_found", `${baseUrl} lists no models (404)`);
  return new BytebotError("unavailable", `${baseUrl} answered ${status} instead of a list of models`);
}

function noList(baseUrl: string, what: string): BytebotError {
  return new BytebotError("unavailable", `${baseUrl} answered with ${what}`);
}

function whyOf(error: unknown): string {
  const { message, cause } = error as Error & { cause?: { code?: string; message?: string } };
  return cause?.code === "ECONNREFUSED" ? "nothing listens there" : (cause?.message ?? message);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
