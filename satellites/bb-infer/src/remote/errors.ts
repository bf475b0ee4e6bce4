import { APICallError, LoadAPIKeyError, NoSuchModelError, UnsupportedFunctionalityError } from "@ai-sdk/provider";
import { BytebotError, type ErrorCode } from "bytebot/sdk";
import { kindOf, retryDelay } from "./kinds-of-error.ts";
import { withoutSecrets } from "./secrets.ts";

const SHOWN = 300;

/** What a message needs to say the fix. */
export interface Server {
  baseUrl: string;
  model: string;
  /** The environment variable the key comes from; undefined where none is used. */
  keyEnv: string | undefined;
  /** Known here so that it can be taken out of whatever the server says. */
  key: string | undefined;
  /** What else may be set where no key is sent. */
  orElse?: string | undefined;
}

/** Whatever a call failed with, as ours: code, whether a repeat may help, how long to wait, and what to do. */
export function toBytebotError(thrown: unknown, server: Server): BytebotError {
  if (thrown instanceof BytebotError) return thrown;
  if (APICallError.isInstance(thrown)) {
    if (thrown.cause instanceof BytebotError) return thrown.cause;
    // A reply that began well and broke off still carries the 200 it began with.
    if (thrown.statusCode === undefined || thrown.statusCode < 400) return broken(thrown, server);
    return fromStatus(thrown.statusCode, said(thrown, server), server);
  }
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  if (error.cause instanceof BytebotError) return error.cause;
  if (LoadAPIKeyError.isInstance(error) || /credential/i.test(error.message)) {
    return new BytebotError("unauthorized", `${shown(error.message, server)} ${keyFix(server)}`);
  }
  if (NoSuchModelError.isInstance(error)) return new BytebotError("not_found", shown(error.message, server));
  if (UnsupportedFunctionalityError.isInstance(error))
    return new BytebotError("invalid_params", `${shown(error.message, server)}: leave it out, or use another model`);
  return broken(error, server);
}

/** Never reached, cut, or a reply that is none. */
function broken(error: Error, server: Server): BytebotError {
  const chain = [error, error.cause, (error.cause as Error | undefined)?.cause];
  if (chain.some((one) => one instanceof TypeError || typeof (one as { code?: unknown })?.code === "string"))
    return unreachable(error, server);
  const message = `${server.baseUrl} sent what is no reply in this provider's format (${shown(error.message, server)}): check that base_url is that of its API`;
  return new BytebotError("unavailable", message, { retryable: true });
}

/** An error object inside the stream: the vendor's own, or what the package made of it. */
export function fromStream(error: unknown, server: Server): BytebotError {
  if (error instanceof Error) return toBytebotError(error, server);
  const fields = (typeof error === "object" && error !== null ? error : { message: error }) as Record<string, unknown>;
  const { message, code, type, statusCode, status } = fields;
  const kind = kindOf([code, type, status], shown(message ?? "", server));
  const named = [statusCode, code, type, status].map(Number).find((one) => one >= 400 && one < 600);
  const retryAfterMs = retryDelay(fields);
  return fromStatus(
    named ?? kind.status ?? 500,
    { text: shown(message ?? error, server), ...kind, retryAfterMs },
    server,
  );
}

interface Said {
  text: string;
  /** What the server's own words for it come to, as a status. */
  status?: number | undefined;
  /** Of a 429: the account has no credit, which no waiting mends. */
  broke?: boolean | undefined;
  retryAfterMs?: number | undefined;
}

// Without a cause: the library's error holds the whole reply, and a reply may repeat the key.
function fromStatus(status: number, { text, broke, retryAfterMs, ...said }: Said, server: Server): BytebotError {
  const { baseUrl, model } = server;
  // A 400 may be anything; what the server calls it says more. So does a 200 with an error in it.
  const named = status === 400 || status === 500 ? (said.status ?? status) : status;
  const fail = (code: ErrorCode, fix: string, retryable = false) =>
    new BytebotError(code, `${baseUrl} answered ${status}: ${text}. ${fix}`, { retryable, retryAfterMs });
  if (named === 401 || named === 403) return fail("unauthorized", keyFix(server));
  if (named === 404)
    return fail(
      "not_found",
      `Check the model (${model}), and that base_url is that of the API (bb-infer models lists what it has)`,
    );
  if (named === 413)
    return fail(
      "too_large",
      "The conversation is longer than this model takes: start a new one, or use a model with a larger context",
    );
  if (broke || named === 402)
    return fail("budget_exceeded", "The account behind the key has no credit left: add some, or use another key");
  if (named === 429) return fail("overloaded", "Too many requests for this key: wait, or ask for a higher limit", true);
  if (named >= 500 || named === 408 || named === 409 || named === 425)
    return fail("unavailable", "The server failed; try again", true);
  return fail("invalid_params", "The request does not suit this server: check params and tools");
}

function keyFix({ keyEnv, key, orElse = "" }: Server): string {
  if (!key)
    return `No key was sent: set ${keyEnv ?? "opts.api_key_env to the name of an environment variable"}${keyEnv ? " in the environment" : ", and the key in it"}${orElse}`;
  return `The key in ${keyEnv} was refused: check that it is whole, not revoked, and belongs to this server`;
}

function unreachable(error: Error, server: Server): BytebotError {
  const { baseUrl } = server;
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
    (code && fixes[code]) ??
    `the connection failed (${shown((error.cause as Error | undefined)?.message ?? error.message, server)})`;
  // The words of what is no failure of the network may hold a header, and with it the key.
  const cause = code === undefined ? {} : { cause: error };
  return new BytebotError("unavailable", `${baseUrl}: ${why}`, { retryable: true, ...cause });
}

function said(error: APICallError, server: Server): Said {
  const body = bodyOf(error);
  const inner = (typeof body?.["error"] === "object" ? body["error"] : undefined) as
    Record<string, unknown> | undefined;
  const plain = isHtml(error.responseBody) ? "a web page, not an API" : error.responseBody;
  const text = inner?.["message"] ?? body?.["message"] ?? (plain === "" ? undefined : plain) ?? error.message;
  const named = [inner?.["code"], inner?.["type"], inner?.["status"], body?.["__type"], typeOf(error)];
  const shownText = shown(text, server);
  return {
    text: shownText,
    ...kindOf(named, shownText),
    retryAfterMs: retryAfter(error.responseHeaders ?? {}) ?? retryDelay(inner ?? {}),
  };
}

/** AWS names the kind of an error in a header. */
function typeOf({ responseHeaders }: APICallError): string | undefined {
  return responseHeaders?.["x-amzn-errortype"]?.split(":")[0];
}

function bodyOf({ data, responseBody }: APICallError): Record<string, unknown> | undefined {
  if (typeof data === "object" && data !== null) return data as Record<string, unknown>;
  try {
    const body: unknown = JSON.parse(responseBody ?? "");
    // Some servers wrap the error in a list.
    const one: unknown = Array.isArray(body) ? body[0] : body;
    return typeof one === "object" && one !== null ? (one as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** A server's words, whatever they are made of, cut, and without the key where the server repeats it. */
export function shown(value: unknown, server: Server): string {
  const text = typeof value === "string" ? value : String(JSON.stringify(value));
  return withoutSecrets(text, server).slice(0, SHOWN);
}

export function isHtml(text: string | undefined): boolean {
  return /^\s*<(?:!doctype|html|head|body)/i.test(text ?? "");
}

/** `retry-after-ms`, or `retry-after` in seconds or as a date, in milliseconds; undefined where it is none of these. */
function retryAfter(headers: Record<string, string>): number | undefined {
  const { "retry-after-ms": ms = "", "retry-after": value = "" } = headers;
  const seconds = Number(value);
  const waits = [
    ms.trim() === "" ? NaN : Number(ms),
    value.trim() === "" ? NaN : Number.isNaN(seconds) ? Date.parse(value) - Date.now() : seconds * 1000,
  ];
  return waits.find((wait) => Number.isFinite(wait) && wait >= 0);
}
