import { BytebotError } from "bytebot/sdk";
import type { Format } from "./end-mark.ts";
import { fromStream, isHtml, shown, type Server } from "./errors.ts";
import { patientFetch } from "./patient.ts";
import { beginning, MAX_EVENT, reply } from "./reply.ts";

/** Milliseconds. */
export interface Timeouts {
  /** Until the reply begins. The Hub waits five minutes for a chunk, and in them a fallback wants its turn too. */
  first_ms: number;
  /** Between two pieces of it. */
  idle_ms: number;
  /** For all of it. */
  total_ms: number;
}

export const defaultTimeouts: Timeouts = { first_ms: 120_000, idle_ms: 120_000, total_ms: 3_600_000 };

/**
 * A fetch whose reply is watched over: each silence has a deadline, the end of its format ends it, a reply that is none
 * fails with what it is, and no event of it is longer than 32 MiB. It follows no redirect: the key would go along. `tools`:
 * the names of those that are offered.
 */
export function watchedFetch(
  server: Server,
  format: Format,
  timeouts: Timeouts,
  tools: readonly string[] = [],
): typeof fetch {
  return async (input, init) => {
    const watch = new Watch(server, timeouts);
    try {
      const signal = init?.signal ? AbortSignal.any([init.signal, watch.signal]) : watch.signal;
      signal.addEventListener("abort", watch.end, { once: true });
      const response = await patientFetch(input, { ...init, signal, redirect: "manual" });
      watch.heard();
      if (response.status >= 300 && response.status < 400) throw redirected(server, response);
      const type = response.headers.get("content-type") ?? "";
      const isStream =
        response.ok && (format === "other" || !/html|json/.test(type) || /ndjson|event-?stream/.test(type));
      const body =
        response.body && (isStream ? reply(response.body, watch, format, tools) : beginning(response.body, watch));
      const watched = new Response(body, response);
      if (response.ok && !isStream) throw await noStream(server, watched);
      return watched;
    } catch (error) {
      watch.end();
      throw watch.signal.aborted ? watch.signal.reason : error;
    }
  };
}

/** Silence after which a reply that has said why it stops has ended. */
const QUIET_MS = 10_000;

/** The deadlines of one reply. */
export class Watch {
  readonly signal: AbortSignal;
  readonly quietMs: number;
  private readonly stop = new AbortController();
  private readonly server: Server;
  private readonly timeouts: Timeouts;
  private readonly total: NodeJS.Timeout;
  private silence: NodeJS.Timeout;
  private begun = false;

  constructor(server: Server, timeouts: Timeouts) {
    this.server = server;
    this.timeouts = timeouts;
    this.signal = this.stop.signal;
    this.quietMs = Math.min(QUIET_MS, timeouts.idle_ms / 2);
    // The socket keeps the process alive, not the watch over it.
    this.total = setTimeout(() => this.fail("is not done after", "total_ms"), timeouts.total_ms).unref();
    this.silence = setTimeout(() => this.fail("has sent nothing for", "first_ms"), timeouts.first_ms).unref();
  }

  heard(): void {
    if (this.begun) return void this.silence.refresh();
    this.begun = true;
    clearTimeout(this.silence);
    this.silence = setTimeout(() => this.fail("has sent nothing for", "idle_ms"), this.timeouts.idle_ms).unref();
  }

  readonly end = (): void => {
    clearTimeout(this.total);
    clearTimeout(this.silence);
  };

  private fail(what: string, name: keyof Timeouts): void {
    this.end();
    const hubs = name === "total_ms" ? "" : " (over 300000 the Hub's limits.inferIdleMs too)";
    const message = `${this.server.baseUrl} ${what} ${this.timeouts[name] / 1000} s: it may be overloaded or still loading the model. Try again, or raise opts.timeouts.${name}${hubs}`;
    this.stop.abort(new BytebotError("timeout", message, { retryable: true }));
  }

  noReply(): BytebotError {
    const message = `${this.server.baseUrl} sent an event of more than ${MAX_EVENT} bytes, or none at all, which is no reply: check that base_url is that of its API`;
    return new BytebotError("unavailable", message);
  }
}

function redirected(server: Server, response: Response): BytebotError {
  const { baseUrl } = server;
  response.body?.cancel().catch(() => undefined); // nothing in it is of use
  const location = response.headers.get("location") ?? "";
  const where = URL.canParse(location, baseUrl) ? shown(new URL(location, baseUrl).origin, server) : "another place";
  const message = `${baseUrl} answered ${response.status} and points to ${where}, where the key is not sent: set base_url to the API itself`;
  return new BytebotError("unavailable", message);
}

async function noStream(server: Server, response: Response): Promise<BytebotError> {
  const { baseUrl } = server;
  const text = await response.text();
  if (isHtml(text)) {
    return new BytebotError(
      "unavailable",
      `${baseUrl} answered with a web page (HTML), not an API: correct base_url; it usually ends in /v1`,
    );
  }
  const error = errorIn(text);
  if (error !== undefined) return fromStream(error, server);
  const message = `${baseUrl} answered with JSON where a stream was asked for: ${shown(text, server)}`;
  return new BytebotError("unavailable", `${message}. Use a server that streams its replies`);
}

/** The error object of a reply that should have had another status. */
function errorIn(text: string): unknown {
  try {
    const body = JSON.parse(text) as { error?: unknown } | null;
    return body?.error ?? undefined;
  } catch {
    return undefined;
  }
}
