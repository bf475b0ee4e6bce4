import type { IncomingMessage, ServerResponse } from "node:http";
import {
  isWide,
  listenHttp,
  refuse,
  refuseForm,
  textOf,
  tokenOf,
  type HttpServer,
  type ListenOptions,
} from "../transport/index.ts";
import type { Blobs } from "../hub/index.ts";
import { BytebotError } from "../wire/index.ts";
import { SESSION_MS, type Credentials } from "./credentials.ts";
import { serveBlob } from "./blob.ts";
import type { DialIns } from "./dialins.ts";

/** Wrong credentials of one address in a minute before it is told to slow down, and the app is told of it. */
const MAX_WRONG = 20;
const MINUTE_MS = 60_000;
const MAX_ADDRESSES = 10_000;
const MAX_BODY = 4096;
const COOKIE = "bytebot";

export interface ServeOptions extends ListenOptions {
  /** The app is reached by https, through a proxy in front of it: cookies are sent over that alone. */
  https?: boolean | undefined;
}

/**
 * The Hub's HTTP side (rules HTP-2, HTP-11 to HTP-13): `/stream` and `/inbox` for satellites, by token; the same below
 * `/browser` for web pages, by a cookie that a one-time code was changed into at `POST /browser/session`.
 */
export async function serve(
  options: ServeOptions,
  credentials: Credentials,
  dialIns: DialIns,
  blobs: Blobs,
  report: (line: string) => void,
): Promise<HttpServer> {
  if (isWide(options) && options.https !== true) {
    report(`${options.host} is reachable from other machines, and HTTP is not encrypted: put TLS in front of it`);
  }
  if (options.connections !== undefined) dialIns.endpoint.connections = options.connections;
  const wrong = new WrongTries(report);
  return listenHttp(options, async (path, request, response, query) => {
    if (path === "/browser/session") return openSession(request, response, credentials, wrong, options.https === true);
    const browser = path.startsWith("/browser/");
    const bare = browser ? path.slice("/browser".length) : path;
    const ref = /^\/blob\/([^/]+)$/.exec(bare)?.[1];
    if (bare !== "/stream" && bare !== "/inbox" && ref === undefined) return;
    const who = browser ? credentials.findSession(cookieOf(request)) : credentials.tokens.find(tokenOf(request));
    if (!who) throw wrong.refusal(request, browser ? "the session has ended: open a new one with a code" : TOKEN_FIX);
    // Only a browser's EventSource has no other place for it than the query.
    const own = browser ? query : undefined;
    if (ref === undefined) return dialIns.endpoint.handle(bare, request, response, who, own);
    const connection = dialIns.connectionOf(dialIns.endpoint.linkOf(request, who, own));
    await serveBlob(blobs, { connection, scope: query.get("scope"), ref }, request, response);
  });
}

const TOKEN_FIX = "the token is missing or wrong: send Authorization: Bearer and the token the app gave out";

async function openSession(
  request: IncomingMessage,
  response: ServerResponse,
  credentials: Credentials,
  wrong: WrongTries,
  secure: boolean,
): Promise<void> {
  const fix = `POST {"code":…} as application/json`;
  if (request.method !== "POST") return refuseForm(response, 405, fix);
  if (request.headers["content-type"]?.startsWith("application/json") !== true) return refuseForm(response, 415, fix);
  let code: unknown;
  try {
    ({ code } = Object(JSON.parse(await textOf(request, MAX_BODY))) as { code?: unknown });
  } catch (error) {
    return refuse(response, BytebotError.from(error, "parse_error"));
  }
  const session = typeof code === "string" ? credentials.redeem(code) : undefined;
  if (session === undefined) throw wrong.refusal(request, "the code is wrong, was used, or is older than a minute");
  const cookie = `${COOKIE}=${session}; HttpOnly; SameSite=Strict; Path=/browser; Max-Age=${SESSION_MS / 1000}`;
  response.writeHead(204, { "set-cookie": secure ? `${cookie}; Secure` : cookie, "cache-control": "no-store" });
  response.end();
}

function cookieOf(request: IncomingMessage): string | undefined {
  for (const part of (request.headers.cookie ?? "").split(";")) {
    const [name, value] = part.trim().split("=", 2);
    if (name === COOKIE) return value;
  }
  return undefined;
}

/** Counts wrong credentials by address: guessing is told to the app, and slowed; who has the right one is not held up. */
class WrongTries {
  private readonly counts = new Map<string, { since: number; count: number }>();
  private readonly report: (line: string) => void;

  constructor(report: (line: string) => void) {
    this.report = report;
  }

  refusal(request: IncomingMessage, message: string): BytebotError {
    const address = request.socket.remoteAddress ?? "a local program";
    const now = Date.now();
    let tries = this.counts.get(address);
    if (!tries || now - tries.since > MINUTE_MS) {
      if (this.counts.size >= MAX_ADDRESSES) this.counts.clear();
      this.counts.set(address, (tries = { since: now, count: 0 }));
    }
    tries.count++;
    if (tries.count <= MAX_WRONG) return new BytebotError("unauthorized", message);
    if (tries.count === MAX_WRONG + 1) this.report(`${address} has sent ${tries.count} wrong tokens within a minute`);
    return new BytebotError("overloaded", `too many wrong tokens: ${message}`, {
      retryAfterMs: MINUTE_MS - (now - tries.since),
    });
  }
}
