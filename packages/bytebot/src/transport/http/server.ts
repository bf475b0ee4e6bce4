import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { BytebotError } from "../../wire/index.ts";
import { bindSocket } from "../socket.ts";
import { guard, isLoopback, type GuardOptions } from "./guard.ts";
import { refuse, refuseForm } from "./answer.ts";

const HEADERS_MS = 10_000;
const REQUEST_MS = 30_000;
/** What answers on their way may take when the server closes. */
const CLOSE_MS = 1000;
/** How often those two are looked after. */
const CHECK_MS = 2000;
/** Connections at once where the options do not say; each may have a socket for its stream and one for its inbox. */
export const MAX_CONNECTIONS = 1000;
const MAX_HEADER_BYTES = 16 * 1024;

export interface ListenOptions extends GuardOptions {
  /** Default 127.0.0.1. */
  host?: string | undefined;
  /** 0: any that is free. */
  port?: number | undefined;
  /** A Unix socket (0600, in a folder of one's own) instead of host and port. */
  socket?: string | undefined;
  /** The most that may be there at once, or may return; default 1,000. */
  connections?: number | undefined;
}

export type Route = (
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
  query: URLSearchParams,
) => void | Promise<void>;

export interface HttpServer {
  /** `http://host:port`, or `http+unix://` and the encoded path. */
  url: string;
  /** Stops listening and ends the sockets that are left. */
  close(): Promise<void>;
}

/** Is this reachable from other machines? */
export function isWide({ host, socket }: ListenOptions): boolean {
  return socket === undefined && !isLoopback(host ?? "127.0.0.1");
}

/**
 * Listens for HTTP, with limits on what a client may hold open; requests of foreign pages and hosts are refused before
 * `route` (rules HTP-11, HTP-12). Throws BytebotError `unavailable`, `conflict` where the port or the socket is taken.
 */
export async function listenHttp(options: ListenOptions, route: Route): Promise<HttpServer> {
  const { host = "127.0.0.1", port = 0, socket } = options;
  const loopback = !isWide(options);
  const server = createServer({
    headersTimeout: HEADERS_MS,
    requestTimeout: REQUEST_MS,
    connectionsCheckingInterval: CHECK_MS,
    maxHeaderSize: MAX_HEADER_BYTES,
    keepAliveTimeout: REQUEST_MS,
    noDelay: true,
  });
  server.maxConnections = 2 * (options.connections ?? MAX_CONNECTIONS);
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    void serve(request, response, options, loopback, route);
  });
  if (socket === undefined) await bindPort(server, host, port);
  else await bindSocket(server, socket);
  server.on("error", (error) => process.emitWarning(`a client could not connect: ${error.message}`));
  return {
    url:
      socket === undefined ? urlOf(server.address() as AddressInfo, host) : `http+unix://${encodeURIComponent(socket)}`,
    async close() {
      const closed = once(server, "close");
      server.close();
      server.closeIdleConnections();
      const stuck = setTimeout(() => server.closeAllConnections(), CLOSE_MS);
      await closed;
      clearTimeout(stuck);
    },
  };
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  options: GuardOptions,
  loopback: boolean,
  route: Route,
): Promise<void> {
  // Its own "close" tells whoever reads it.
  request.on("error", () => {});
  response.on("error", () => {});
  try {
    guard(request, options, loopback);
    const url = toUrl(request.url ?? "/");
    await route(url.pathname, request, response, url.searchParams);
  } catch (error) {
    refuse(response, BytebotError.from(error));
  }
  if (!response.headersSent) refuseForm(response, 404, "there is nothing at this path");
  // What of a refused request's body is still to come is read and dropped, and the socket stays usable.
  request.resume();
}

function toUrl(path: string): URL {
  if (URL.canParse(path, "http://host")) return new URL(path, "http://host");
  throw new BytebotError("invalid_params", "the path of the request is none");
}

async function bindPort(server: Server, host: string, port: number): Promise<void> {
  const listening = once(server, "listening");
  server.listen(port, host);
  try {
    await listening;
  } catch (error) {
    const taken = error instanceof Error && "code" in error && error.code === "EADDRINUSE";
    if (taken) throw new BytebotError("conflict", `port ${port} of ${host} is in use: choose another, or 0 for any`);
    throw new BytebotError("unavailable", `cannot listen on ${host}:${port}: ${String(error)}`, { cause: error });
  }
}

function urlOf({ port, address, family }: AddressInfo, host: string): string {
  const name = family === "IPv6" && host === address ? `[${address}]` : host;
  return `http://${name}:${port}`;
}
