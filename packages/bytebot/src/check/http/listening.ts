import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { BytebotError, encode } from "../../wire/index.ts";

const HEADERS_MS = 10_000;
const MOST_BODY = 32 * 1024 * 1024;

/** One request of a satellite that dials in. */
export interface Asked {
  method: string;
  path: string;
  /** The path and its query. */
  url: string;
  headers: IncomingMessage["headers"];
  body: string;
  /** By the clock of `performance.now()`: when it had come wholly. */
  at: number;
  /** Did it carry its token? */
  authorized: boolean;
  response: ServerResponse;
}

/** Who takes the requests of one program. */
export interface Programme {
  token: string;
  owns(connection: string): boolean;
  asked(asked: Asked): void;
  /** Somebody came whose token is nobody's. */
  stranger(asked: Asked): void;
}

/** The address at which the programs of a run find their Hub; each is known by a token of its own. */
export class Listening {
  readonly url: string;
  private readonly server: Server;
  private readonly programs = new Map<string, Programme>();

  private constructor(server: Server, host: string) {
    this.server = server;
    const { port, family } = server.address() as AddressInfo;
    this.url = `http://${family === "IPv6" ? `[${host}]` : host}:${port}`;
  }

  /** Port 0: any that is free. Throws BytebotError `unavailable`. */
  static async open({ host, port }: { host: string; port: number }): Promise<Listening> {
    const server = createServer({ headersTimeout: HEADERS_MS, noDelay: true });
    server.listen(port, host);
    try {
      await once(server, "listening");
    } catch (error) {
      throw new BytebotError("unavailable", `cannot listen on ${host}:${port}: ${String(error)}`, { cause: error });
    }
    const listening = new Listening(server, host);
    server.on("request", (request, response) => void listening.take(request, response));
    return listening;
  }

  newToken(): string {
    return randomUUID();
  }

  add(program: Programme): void {
    this.programs.set(program.token, program);
  }

  remove(program: Programme): void {
    this.programs.delete(program.token);
  }

  async close(): Promise<void> {
    const closed = once(this.server, "close");
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }

  private async take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // Its own "close" tells whoever reads it.
    response.on("error", () => undefined);
    const body = await bodyOf(request);
    if (body === undefined) return void response.destroy();
    const { method = "", url = "/", headers } = request;
    const token = /^Bearer (\S+)$/i.exec(headers.authorization ?? "")?.[1] ?? "";
    const mine = this.programs.get(token);
    const connection = String(headers["bytebot-connection"] ?? "");
    const program = mine ?? [...this.programs.values()].find((one) => one.owns(connection));
    const path = url.replace(/\?.*$/, "");
    const asked: Asked = {
      method,
      path,
      url,
      headers,
      body,
      at: performance.now(),
      authorized: mine !== undefined,
      response,
    };
    if (program) return program.asked(asked);
    for (const each of this.programs.values()) each.stranger(asked);
    refuse(asked, 401, "unauthorized", "the token is missing or wrong: send Authorization: Bearer BYTEBOT_TOKEN");
  }
}

export function answer({ response }: Asked, status: number, lines: string, headers: Record<string, string> = {}): void {
  if (response.destroyed || response.headersSent) return;
  response.writeHead(status, {
    "content-type": "application/x-ndjson",
    "content-length": Buffer.byteLength(lines),
    ...headers,
  });
  response.end(lines);
}

/** Refuses a request as a Hub does: the status of a code, and a `bb_error`. `afterMs`: when it may be sent again. */
export function refuse(asked: Asked, status: number, code: string, message: string, afterMs?: number): void {
  const again = afterMs === undefined ? { retryable: false } : { retryable: true, retry_after_ms: afterMs };
  const headers = afterMs === undefined ? undefined : { "retry-after": String(Math.ceil(afterMs / 1000)) };
  answer(asked, status, encode({ event_type: "bb_error", code, message, ...again }), headers);
}

async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  const parts: Buffer[] = [];
  let size = 0;
  try {
    for await (const part of request) {
      parts.push(part as Buffer);
      if ((size += (part as Buffer).length) > MOST_BODY) return undefined;
    }
  } catch {
    return undefined;
  }
  return Buffer.concat(parts).toString("latin1");
}
