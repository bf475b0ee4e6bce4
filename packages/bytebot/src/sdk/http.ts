import { randomUUID } from "node:crypto";
import {
  assertToken,
  DialedLink,
  Endpoint,
  isWide,
  LateReceiver,
  listenHttp,
  pause,
  sameToken,
  tokenOf,
  tokenOfEnv,
  type Link,
  type ServedLink,
  type Receiver,
} from "../transport/index.ts";
import { BytebotError, wide, type Event } from "../wire/index.ts";
import { startInproc, type Main } from "./ambient.ts";

const FIRST_WAIT_MS = 100;
const LAST_WAIT_MS = 10_000;
/** What a `main` whose connection has closed may still take. */
const LEAVE_MS = 1000;

interface Common {
  /** Handed to `main`. */
  opts?: Record<string, unknown> | undefined;
  /** Default: the environment variable BYTEBOT_TOKEN. */
  token?: string | undefined;
  /** Both sides say of each event that has a name that it came (`capabilities.acks`, rule HTP-10). */
  sendAcks?: boolean | undefined;
  /** Ends the satellite. */
  signal?: AbortSignal | undefined;
}

export interface ServeHttpOptions extends Common {
  /** Default 127.0.0.1; a wider one, such as 0.0.0.0, needs a token. */
  host?: string | undefined;
  /** 0 (the default): any that is free. */
  port?: number | undefined;
  /** A Unix socket's path, instead of host and port. */
  socket?: string | undefined;
  /** Names it may be called by; absent: on loopback its own, elsewhere any. */
  hosts?: readonly string[] | undefined;
}

export interface Serving extends AsyncDisposable {
  /** What an app attaches: `http://host:port`. */
  url: string;
  /** Resolves when it serves no more. */
  closed: Promise<void>;
  close(): Promise<void>;
}

/**
 * Serves a satellite's `/stream` and `/inbox` to the one Hub that dials it; `main` runs anew for each connection, as a Hub
 * that restarts begins one. Resolves when it listens. Rejects with BytebotError `forbidden` where others could reach it
 * without a token, `conflict` where the port is taken, `invalid_params` where no header carries the token.
 */
export async function serveHttp(main: Main, options: ServeHttpOptions = {}): Promise<Serving> {
  const { opts = {}, sendAcks = false, host, port, socket, hosts } = options;
  const token = chosen(options.token);
  if (isWide(options)) {
    if (!token) throw needsToken(host!);
    process.emitWarning(`${host} is reachable from other machines, and HTTP is not encrypted: put TLS in front of it`);
  }
  const stop = new AbortController();
  const running = new Set<Promise<void>>();
  let current: ServedLink | undefined;
  const onConnection = (open: (receiver: Receiver) => ServedLink): void => {
    if (current?.connected === true) {
      const message = "another Hub is connected to this satellite, which serves one";
      throw new BytebotError("conflict", message, { retryable: true });
    }
    // A Hub that is new here is not the one that was expected back.
    void current?.close("another Hub has connected");
    const late = new LateReceiver();
    const link = open(late);
    const connect = (receiver: Receiver): Link => {
      late.become(receiver);
      return link;
    };
    const acks = sendAcks ? "answers" : undefined;
    const run = startInproc(main, { name: "the Hub", opts, signal: stop.signal, connect, acks })
      .catch((error: unknown) => {
        if (!stop.signal.aborted) console.error(`bytebot: the satellite failed:`, told(error));
      })
      .then(() => link.close("its main ended"))
      .finally(() => {
        if (current === link) current = undefined;
        running.delete(run);
      });
    current = link;
    running.add(run);
  };
  const endpoint = new Endpoint<"hub">({
    begins: "stream",
    limits: wide,
    answersLater: () => false,
    name: () => "the Hub",
    onConnection,
  });
  const server = await listenHttp({ host, port, socket, hosts }, async (path, request, response) => {
    if (token && !sameToken(tokenOf(request), token)) {
      throw new BytebotError("unauthorized", "the token is missing or wrong: send Authorization: Bearer BYTEBOT_TOKEN");
    }
    if (path === "/stream" || path === "/inbox") await endpoint.handle(path, request, response, "hub");
  });
  const closed = Promise.withResolvers<void>();
  let closing: Promise<void> | undefined;
  const end = async (): Promise<void> => {
    options.signal?.removeEventListener("abort", abort);
    stop.abort(new BytebotError("cancelled", "the satellite is being stopped"));
    const left = new AbortController();
    await Promise.race([Promise.all(running), pause(LEAVE_MS, left.signal)]);
    left.abort();
    await endpoint.close("the satellite is being stopped");
    await server.close();
    closed.resolve();
  };
  const close = (): Promise<void> => (closing ??= end());
  const abort = (): void => void close();
  if (options.signal?.aborted) await close();
  else options.signal?.addEventListener("abort", abort, { once: true });
  return { url: server.url, closed: closed.promise, close, [Symbol.asyncDispose]: close };
}

export interface DialHttpOptions extends Common {
  /** The Hub's, as in "http://127.0.0.1:8080". */
  url: string;
  /** How the Hub's events come: lines (the default), or text/event-stream. */
  format?: "ndjson" | "sse" | undefined;
}

/**
 * Runs a satellite's `main` on a Hub that serves HTTP, and again whenever the connection is lost for good, with growing
 * waits. Resolves when `main` has ended the connection itself, or at the signal; rejects with what `main` threw while it
 * was connected, and with the Hub's refusal (`unauthorized`, `forbidden`, …).
 */
export async function dialHttp(main: Main, options: DialHttpOptions): Promise<void> {
  const { opts = {}, sendAcks = false, format } = options;
  const token = chosen(options.token);
  const signal = options.signal ?? new AbortController().signal;
  const base = options.url.endsWith("/") ? options.url : `${options.url}/`;
  let told = "";
  for (let wait = FIRST_WAIT_MS; ; wait = Math.min(2 * wait, LAST_WAIT_MS)) {
    const dialed = new Dialed();
    let why = "the Hub said goodbye";
    const since = performance.now();
    const urls = { stream: new URL("stream", base), inbox: new URL("inbox", base) };
    const link = { name: `the Hub at ${options.url}`, ...urls, token, format, limits: wide };
    const connect = (receiver: Receiver): Link => (dialed.link = new HubLink(link, dialed.before(receiver)));
    try {
      await startInproc(main, { name: "the Hub", opts, signal, connect, acks: sendAcks ? "sends" : undefined });
    } catch (error) {
      if (signal.aborted) return;
      why = BytebotError.from(error).message;
      const refused = dialed.link?.lost;
      if (refused?.code === "unauthorized" || refused?.code === "forbidden") throw refused;
      if (!dialed.wasLost || (!dialed.synced && BytebotError.from(error).code !== "unavailable")) throw error;
    }
    if (signal.aborted || !dialed.wasLost) return;
    why = dialed.link?.lost?.message ?? why;
    if (why !== told) console.error(`bytebot: ${why}; trying again`);
    told = why;
    // Two that share a token drive each other out: they shall not do so ten times a second.
    if (dialed.synced && performance.now() - since > LAST_WAIT_MS) wait = FIRST_WAIT_MS;
    await pause(wait, signal);
    if (signal.aborted) return;
  }
}

/** Knows whether the satellite left by itself: it then said so. */
class HubLink extends DialedLink {
  left = false;

  override send(event: Event, known?: () => string): void {
    this.left ||= event.event_type === "bb_bye";
    super.send(event, known);
  }
}

/** How one run of `main` fared with its connection. */
class Dialed {
  link: HubLink | undefined;
  synced = false;
  private hubLeft = false;

  /** Was it the connection that ended, and not `main`? Then the Hub may be there again later. */
  get wasLost(): boolean {
    return this.link?.left !== true && (this.hubLeft || this.link?.lost !== undefined);
  }

  before(receiver: Receiver): Receiver {
    return {
      event: (event) => {
        this.synced ||= event.event_type === "bb_sync_ack";
        this.hubLeft ||= event.event_type === "bb_bye";
        receiver.event(event);
      },
      fault: (error) => receiver.fault(error),
      closed: (reason) => receiver.closed(reason),
    };
  }
}

/** The one that was given (empty: none), else that of the environment. Throws `invalid_params` where no header carries it. */
function chosen(token: string | undefined): string | undefined {
  if (token === undefined) return tokenOfEnv("BYTEBOT_TOKEN");
  assertToken(token, `the option "token"`);
  return token === "" ? undefined : token;
}

function needsToken(host: string): BytebotError {
  return new BytebotError(
    "forbidden",
    `${host} is reachable from other machines: set BYTEBOT_TOKEN to a secret of your own (such as ${randomUUID()}) for this satellite and for the app, or serve on 127.0.0.1`,
  );
}

/** Our own errors say what and where by themselves. */
function told(error: unknown): unknown {
  return error instanceof BytebotError ? error.message : error;
}
