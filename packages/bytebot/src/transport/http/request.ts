import { lookup as resolveName } from "node:dns";
import {
  Agent,
  request as httpRequest,
  type ClientRequest,
  type IncomingMessage,
  type RequestOptions,
} from "node:http";
import { Agent as TlsAgent, request as httpsRequest } from "node:https";
import { BlockList, isIP, type LookupFunction } from "node:net";
import { BytebotError } from "../../wire/index.ts";
import { takeBody } from "./body.ts";

/** A request whose answer has not come, or not wholly, is given up, in milliseconds. */
const ANSWER_MS = 30_000;

/** Where requests go, and how: kept open between them. */
export class Client {
  private readonly agent = new Agent({ keepAlive: true });
  private readonly tlsAgent = new TlsAgent({ keepAlive: true });
  private readonly token: string | undefined;
  private readonly lookup: LookupFunction | undefined;

  /** `publicOnly`: private, link-local and other special addresses are refused when the name is resolved. */
  constructor(options: { token?: string | undefined; publicOnly?: boolean | undefined }) {
    this.token = options.token;
    this.lookup = options.publicOnly === true ? lookupPublic : undefined;
  }

  /**
   * Sends a request and resolves with its answer, the body unread, once its head has come, within `waitMs` milliseconds
   * (30,000). Redirects are not followed: they would lead the token elsewhere. Rejects with BytebotError `unavailable`
   * (retryable), or `cancelled`.
   */
  async send(
    url: URL,
    options: {
      method: string;
      headers?: Record<string, string>;
      body?: string;
      signal?: AbortSignal;
      waitMs?: number;
    },
  ): Promise<IncomingMessage> {
    const { method, body, signal, waitMs = ANSWER_MS } = options;
    const { headers, ...target } = this.target(url);
    const sent = (url.protocol === "https:" ? httpsRequest : httpRequest)({
      ...target,
      method,
      headers: {
        ...headers,
        ...options.headers,
        ...(body === undefined ? {} : { "content-length": Buffer.byteLength(body) }),
      },
    });
    return answerTo(sent, url, body, waitMs, signal);
  }

  close(): void {
    this.agent.destroy();
    this.tlsAgent.destroy();
  }

  private target(url: URL): Omit<RequestOptions, "headers"> & { headers: Record<string, string> } {
    const headers: Record<string, string> = this.token === undefined ? {} : { authorization: `Bearer ${this.token}` };
    const path = `${url.pathname}${url.search}`;
    if (this.lookup) refuseSpecial(url);
    if (url.protocol === "http+unix:") {
      headers["host"] = "localhost";
      return { socketPath: decodeURIComponent(url.hostname), path, headers, agent: this.agent };
    }
    const tls = url.protocol === "https:";
    return {
      hostname: url.hostname.replace(/^\[|\]$/g, ""),
      ...(url.port === "" ? {} : { port: url.port }),
      path,
      headers,
      agent: tls ? this.tlsAgent : this.agent,
      ...(this.lookup ? { lookup: this.lookup } : {}),
    };
  }
}

function answerTo(
  sent: ClientRequest,
  url: URL,
  body: string | undefined,
  waitMs: number,
  signal: AbortSignal | undefined,
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const abort = (): void =>
    void sent.destroy(new BytebotError("cancelled", `the request to ${url.href} was called off`));
  const late = setTimeout(() => sent.destroy(new Error(`no answer within ${waitMs / 1000} s`)), waitMs);
  let isAnswered = false;
  sent.on("response", (response) => {
    isAnswered = true;
    clearTimeout(late);
    resolve(response);
  });
  sent.on("error", (error) => reject(unreachable(url, error)));
  sent.on("close", () => {
    clearTimeout(late);
    signal?.removeEventListener("abort", abort);
    if (!isAnswered) reject(unreachable(url, new Error("the connection closed")));
  });
  if (signal?.aborted) abort();
  else signal?.addEventListener("abort", abort, { once: true });
  sent.end(body);
  return promise;
}

/** The whole body of a request as text. Throws BytebotError `too_large` beyond `limit` bytes; the rest is then unread. */
export async function textOf(message: IncomingMessage, limit: number): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  await takeBody(message, (part) => {
    size += part.length;
    if (size > limit) throw new BytebotError("too_large", `more than ${limit} bytes`);
    parts.push(part);
  });
  return Buffer.concat(parts).toString();
}

/**
 * The whole body of an answer as text. Throws BytebotError `too_large` beyond `limit` bytes, and `unavailable` (retryable)
 * where it breaks, or has not ended after 30 s.
 */
export async function answerOf(url: URL, response: IncomingMessage, limit: number): Promise<string> {
  const late = setTimeout(() => response.destroy(new Error(`its answer took over ${ANSWER_MS / 1000} s`)), ANSWER_MS);
  try {
    return await textOf(response, limit);
  } catch (error) {
    if (!(error instanceof BytebotError)) throw unreachable(url, error as Error);
    throw new BytebotError(error.code, `${url.href} answered with ${error.message}`);
  } finally {
    clearTimeout(late);
    response.destroy();
  }
}

function unreachable(url: URL, error: Error): BytebotError {
  if (error instanceof BytebotError) return error;
  const isNoHttp = "code" in error && String(error.code).startsWith("HPE_");
  return new BytebotError("unavailable", `${url.href} cannot be reached: ${error.message || error.name}`, {
    retryable: !isNoHttp,
    cause: error,
  });
}

/** Addresses that are not the public internet: this machine, private networks, link-local and cloud metadata, multicast. */
const special = new BlockList();
for (const [net, bits] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 3],
] as const) {
  special.addSubnet(net, bits, "ipv4");
}
for (const [net, bits] of [
  ["::", 96],
  ["64:ff9b::", 96],
  ["64:ff9b:1::", 48],
  ["100::", 64],
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["fc00::", 7],
  ["fe80::", 9],
  ["ff00::", 8],
] as const) {
  special.addSubnet(net, bits, "ipv6");
}

/** A socket of this machine is no public address; one written in the URL is not looked up, so it is checked here. */
function refuseSpecial({ protocol, hostname }: URL): void {
  const bare = hostname.replace(/^\[|\]$/g, "");
  const family = isIP(bare);
  if (protocol === "http+unix:" || (family !== 0 && isSpecial(bare, family))) throw notPublic(bare, bare);
}

function isSpecial(address: string, family: number): boolean {
  return special.check(address, family === 6 ? "ipv6" : "ipv4");
}

const lookupPublic: LookupFunction = (hostname, options, done) => {
  resolveName(hostname, { ...options, all: true }, (error, found) => {
    if (error) return done(error, "", 0);
    const bad = found.find(({ address, family }) => isSpecial(address, family));
    if (bad) return done(notPublic(hostname, bad.address), "", 0);
    if (options.all === true) return done(null, found as never, 0);
    const [first] = found;
    done(null, first!.address, first!.family);
  });
};

function notPublic(hostname: string, address: string): BytebotError {
  const what = hostname === address ? hostname : `${hostname} (${address})`;
  return new BytebotError(
    "forbidden",
    `${what} is no public address: only the app's own code or config may name such a host`,
  );
}
