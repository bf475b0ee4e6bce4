import { BytebotError } from "bytebot/sdk";
import { EndMark, type Format } from "./end-mark.ts";
import { fromStream, isHtml, shown, type Server } from "./errors.ts";

/** Milliseconds. */
export interface Timeouts {
  /** Until the reply begins: a large model may think for long before it says anything. */
  first_ms: number;
  /** Between two pieces of it. */
  idle_ms: number;
  /** For all of it. */
  total_ms: number;
}

export const defaultTimeouts: Timeouts = { first_ms: 300_000, idle_ms: 120_000, total_ms: 3_600_000 };

/** Bytes read of a reply that is no stream: enough to say what it is. */
const READ = 64 * 1024;
/** Bytes without a line's end; no event is larger. */
const MAX_LINE = 32 * 1024 * 1024;
/** Time for a server to end the reply itself, so that its connection can be used again. */
const LINGER_MS = 250;

/**
 * A fetch whose reply is watched over: each silence has a deadline, the end of its format ends it, a reply that is none
 * fails with what it is, and no line of it is longer than 32 MiB. It follows no redirect: the key would go along.
 */
export function watchedFetch(server: Server, format: Format, timeouts: Timeouts): typeof fetch {
  return async (input, init) => {
    const watch = new Watch(server, timeouts);
    try {
      const signal = init?.signal ? AbortSignal.any([init.signal, watch.signal]) : watch.signal;
      signal.addEventListener("abort", watch.end, { once: true });
      const response = await fetch(input, { ...init, signal, redirect: "manual" });
      watch.heard();
      if (response.status >= 300 && response.status < 400) throw redirected(server, response);
      const type = response.headers.get("content-type") ?? "";
      const isStream =
        response.ok && (format === "other" || !/html|json/.test(type) || /ndjson|event-?stream/.test(type));
      const body = response.body && (isStream ? reply(response.body, watch, format) : beginning(response.body, watch));
      const watched = new Response(body, response);
      if (response.ok && !isStream) throw await noStream(server, watched);
      return watched;
    } catch (error) {
      watch.end();
      throw watch.signal.aborted ? watch.signal.reason : error;
    }
  };
}

/** The deadlines of one reply. */
class Watch {
  readonly signal: AbortSignal;
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
    const message = `${this.server.baseUrl} ${what} ${this.timeouts[name] / 1000} s: it may be overloaded or still loading the model. Try again, or raise opts.timeouts.${name}`;
    this.stop.abort(new BytebotError("timeout", message, { retryable: true }));
  }

  tooLong(): BytebotError {
    const message = `${this.server.baseUrl} sent a line of more than ${MAX_LINE} bytes, which is no reply: check that base_url is that of its API`;
    return new BytebotError("unavailable", message);
  }
}

/** What came, up to the event that ends it. */
function reply(body: ReadableStream<Uint8Array>, watch: Watch, format: Format): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const mark = new EndMark(format);
  let line = 0;
  let lingering: NodeJS.Timeout | undefined;
  const done = () => {
    clearTimeout(lingering);
    watch.end();
  };
  return watched(reader, done, async (controller) => {
    for (;;) {
      const { done: ended, value } = await reader.read();
      if (ended) return "ended";
      watch.heard();
      if (mark.ended) continue;
      const size = mark.take(value);
      const newline = value.lastIndexOf(10);
      line = newline === -1 ? line + value.length : value.length - 1 - newline;
      if (line > MAX_LINE && format !== "converse") throw watch.tooLong();
      if (size > 0) controller.enqueue(size === value.length ? value : value.subarray(0, size));
      if (mark.ended) lingering = setTimeout(() => void reader.cancel(), LINGER_MS);
      return "more";
    }
  });
}

/** Of an error's body what is worth reading. */
function beginning(body: ReadableStream<Uint8Array>, watch: Watch): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let read = 0;
  return watched(reader, watch.end, async (controller) => {
    const { done, value } = await reader.read();
    if (done) return "ended";
    watch.heard();
    controller.enqueue(value.subarray(0, READ - read));
    read += value.length;
    if (read < READ) return "more";
    await reader.cancel();
    return "ended";
  });
}

/** A stream of what `next` takes from the reader. However it ends, `done` is called. */
function watched(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  done: () => void,
  next: (controller: ReadableStreamDefaultController<Uint8Array>) => Promise<"more" | "ended">,
): ReadableStream<Uint8Array> {
  return new ReadableStream({
    async pull(controller) {
      try {
        if ((await next(controller)) === "more") return;
        done();
        controller.close();
      } catch (error) {
        done();
        void reader.cancel(error).catch(() => undefined);
        throw error;
      }
    },
    async cancel(reason) {
      done();
      await reader.cancel(reason);
    },
  });
}

function redirected({ baseUrl }: Server, response: Response): BytebotError {
  void response.body?.cancel();
  const location = response.headers.get("location") ?? "";
  const where = URL.canParse(location, baseUrl) ? new URL(location, baseUrl).origin : "another place";
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
