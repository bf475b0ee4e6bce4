import { APICallError } from "@ai-sdk/provider";
import { BytebotError, type ErrorCode } from "bytebot/sdk";

const SHOWN = 300;

/** What a message needs to say the fix. */
export interface Server {
  baseUrl: string;
  model: string;
  /** The environment variable the key comes from; undefined where none is used. */
  keyEnv: string | undefined;
  /** Known here so that it can be taken out of whatever the server says. */
  key: string | undefined;
}

/** Whatever a call failed with, as ours: code, whether a repeat may help, how long to wait, and what to do. */
export function toBytebotError(thrown: unknown, server: Server): BytebotError {
  if (thrown instanceof BytebotError) return thrown;
  if (APICallError.isInstance(thrown)) {
    if (thrown.cause instanceof BytebotError) return thrown.cause;
    // A reply that began well and broke off still carries the 200 it began with.
    if (thrown.statusCode === undefined || thrown.statusCode < 400) return unreachable(thrown, server);
    return fromStatus(thrown.statusCode, said(thrown, server), server);
  }
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  if (error instanceof TypeError || "code" in error) return unreachable(error, server);
  const message = `${server.baseUrl} sent what is no reply in the OpenAI format (${shown(error.message, server)}): check that base_url is that of an OpenAI-compatible API`;
  return new BytebotError("unavailable", message, { retryable: true });
}

/** An error object inside the stream: `{ message, code, type }`, where the code may be an HTTP status. */
export function fromStream(error: unknown, server: Server): BytebotError {
  if (error instanceof Error) return toBytebotError(error, server);
  const { message, code, type } = (typeof error === "object" && error !== null ? error : { message: error }) as Record<
    string,
    unknown
  >;
  const status = statusOf(code) ?? statusOf(type) ?? 500;
  return fromStatus(
    status,
    { text: shown(message ?? "no message", server), kind: shown(code ?? type ?? "", server) },
    server,
  );
}

const byName: Record<string, number> = {
  rate_limit_exceeded: 429,
  rate_limit_error: 429,
  insufficient_quota: 429,
  overloaded_error: 529,
  invalid_api_key: 401,
  authentication_error: 401,
  permission_error: 403,
  model_not_found: 404,
  not_found_error: 404,
  context_length_exceeded: 413,
  exceed_context_size_error: 413,
  invalid_request_error: 400,
};

function statusOf(code: unknown): number | undefined {
  const number = Number(code);
  if (Number.isInteger(number) && number >= 400 && number < 600) return number;
  return typeof code === "string" ? byName[code] : undefined;
}

interface Said {
  text: string;
  /** The server's own word for the kind of error. */
  kind: string;
  retryAfterMs?: number | undefined;
}

// Without a cause: the library's error holds the whole reply, and a reply may repeat the key.
function fromStatus(status: number, { text, kind, retryAfterMs }: Said, server: Server): BytebotError {
  const { baseUrl, model } = server;
  const named = status === 400 ? (byName[kind] ?? status) : status;
  const fail = (code: ErrorCode, fix: string, retryable = false) =>
    new BytebotError(code, `${baseUrl} answered ${status}: ${text}. ${fix}`, { retryable, retryAfterMs });
  if (named === 401 || named === 403) return fail("unauthorized", keyFix(server));
  if (named === 404)
    return fail(
      "not_found",
      `Check the model (${model}) and that base_url is right (it ends before /chat/completions)`,
    );
  if (named === 413)
    return fail(
      "too_large",
      "The conversation is longer than this model takes: start a new one, or use a model with a larger context",
    );
  if (kind === "insufficient_quota" || named === 402)
    return fail("budget_exceeded", "The account behind the key has no credit left: add some, or use another key");
  if (named === 429) return fail("overloaded", "Too many requests for this key: wait, or ask for a higher limit", true);
  if (named >= 500 || named === 408 || named === 409 || named === 425)
    return fail("unavailable", "The server failed; try again", true);
  return fail("invalid_params", "The request does not suit this server: check params and tools");
}

function keyFix({ keyEnv, key }: Server): string {
  if (!key)
    return `No key was sent: set ${keyEnv ?? "opts.api_key_env to the name of an environment variable"}${keyEnv ? " in the environment" : ", and the key in it"}`;
  return `The key in ${keyEnv} was refused: check that it is whole, not revoked, and belongs to this server`;
}

function unreachable(error: Error, { baseUrl }: Server): BytebotError {
  const chain = [error, error.cause, (error.cause as Error | undefined)?.cause];
  const code = chain.map((one) => (one as { code?: unknown } | undefined)?.code).find((one) => typeof one === "string");
  const fixes: Record<string, string> = {
    ECONNREFUSED: "nothing listens there: start the server, or correct base_url",
    ENOTFOUND: "there is no such host: correct base_url, or check the network",
    EAI_AGAIN: "the name cannot be looked up: check the network",
    UND_ERR_SOCKET: "the connection was cut in the middle of the reply",
    ECONNRESET: "the connection was cut",
  };
  const why =
    (code && fixes[code]) ?? `the connection failed (${(error.cause as Error | undefined)?.message ?? error.message})`;
  return new BytebotError("unavailable", `${baseUrl}: ${why}`, { retryable: true, cause: error });
}

function said(error: APICallError, server: Server): Said {
  const body = error.data as { error?: { message?: unknown; code?: unknown; type?: unknown } } | undefined;
  const plain = isHtml(error.responseBody) ? "a web page, not an API" : error.responseBody;
  const text = body?.error?.message ?? plain ?? error.message;
  const kinds = [body?.error?.code, body?.error?.type].map(String);
  return {
    text: shown(text, server),
    kind: kinds.find((kind) => kind in byName) ?? "",
    retryAfterMs: retryAfter(error.responseHeaders ?? {}),
  };
}

/** A server's words, whatever they are made of, cut, and without the key where the server repeats it. */
export function shown(value: unknown, { key, keyEnv }: Server): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  // What is shorter is a placeholder for a server that wants no key, as in "none" or "ollama".
  const safe = key !== undefined && key.length >= 8 ? text.replaceAll(key, `[the key in ${keyEnv}]`) : text;
  return safe.slice(0, SHOWN);
}

export function isHtml(text: string | undefined): boolean {
  return /^\s*<(?:!doctype|html|head|body)/i.test(text ?? "");
}

/** `retry-after-ms`, or `retry-after` in seconds or as a date, in milliseconds. */
function retryAfter(headers: Record<string, string>): number | undefined {
  const ms = Number(headers["retry-after-ms"] ?? NaN);
  if (ms >= 0) return ms;
  const value = headers["retry-after"];
  if (value === undefined || value === "") return undefined;
  const seconds = Number(value);
  const wait = Number.isNaN(seconds) ? Date.parse(value) - Date.now() : seconds * 1000;
  return wait >= 0 ? wait : undefined;
}
