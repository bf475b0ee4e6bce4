import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { BytebotError, type Event, type LineLimits } from "../../wire/index.ts";
import type { Receiver } from "../link.ts";
import { BATCH, CONNECTION, isLines, RECEIVED, SSE } from "./headers.ts";
import { answer, refuse, refuseForm } from "./answer.ts";
import { ServedLink } from "./served.ts";
import { MAX_CONNECTIONS } from "./server.ts";

const ID = /^[\x21-\x7e]{1,128}$/;

export interface EndpointOptions<Who> {
  /** Which request begins a connection: the Hub's GET of a satellite's stream, or a satellite's POST of its bb_sync to the Hub. */
  begins: "stream" | "inbox";
  limits?: LineLimits;
  answersLater: (event: Event) => boolean;
  /** A new connection of theirs, as a way to open its link; throws where there may be none. */
  onConnection: (open: (receiver: Receiver) => ServedLink, who: Who) => void;
  /** For people, of the connection. */
  name: (who: Who) => string;
}

interface Session<Who> {
  who: Who;
  link: ServedLink | undefined;
}

/** `/stream` and `/inbox` for one kind of peer: finds the connection a request belongs to, or begins one. */
export class Endpoint<Who> {
  /** The most connections that may be there or return, of all credentials together. */
  connections = MAX_CONNECTIONS;
  private readonly options: EndpointOptions<Who>;
  private readonly sessions = new Map<string, Session<Who>>();

  constructor(options: EndpointOptions<Who>) {
    this.options = options;
  }

  /** Connections that are there, or may still return. */
  get size(): number {
    return this.sessions.size;
  }

  /** The link of a request that belongs to a connection but is not for its stream or inbox. Throws `not_found`. */
  linkOf(request: IncomingMessage, who: Who, query?: URLSearchParams): ServedLink {
    const id = headerOf(request, CONNECTION) ?? query?.get("connection") ?? undefined;
    const link = id === undefined ? undefined : this.find(id, who)?.link;
    if (!link) throw unknown(id);
    return link;
  }

  /** `query`: the connection may be named there, for clients that cannot send headers. */
  async handle(
    path: string,
    request: IncomingMessage,
    response: ServerResponse,
    who: Who,
    query?: URLSearchParams,
  ): Promise<void> {
    try {
      const id = headerOf(request, CONNECTION) ?? query?.get("connection") ?? undefined;
      if (id !== undefined && !ID.test(id)) throw badHeader(CONNECTION, "1 to 128 visible ASCII characters");
      if (path === "/stream" && request.method === "GET") return this.stream(request, response, who, id);
      if (path === "/stream" && request.method === "DELETE") return this.leave(response, who, id);
      if (path === "/inbox" && request.method === "POST") return await this.inbox(request, response, who, id);
      response.setHeader("allow", path === "/inbox" ? "POST" : "GET, DELETE");
      refuseForm(response, 405, `${request.method} of ${path}: there is GET and DELETE /stream, and POST /inbox`);
    } catch (error) {
      refuse(response, BytebotError.from(error));
    }
  }

  /** Ends every connection of this credential. */
  async closeOf(who: Who, reason: string): Promise<void> {
    await closeAll(
      [...this.sessions.values()].filter((session) => session.who === who),
      reason,
    );
  }

  /** Ends every connection. */
  async close(reason: string): Promise<void> {
    await closeAll([...this.sessions.values()], reason);
  }

  private stream(request: IncomingMessage, response: ServerResponse, who: Who, id: string | undefined): void {
    const received = countOf(request, RECEIVED);
    const known = id === undefined ? undefined : this.find(id, who);
    if (!known && (this.options.begins === "inbox" || (received ?? 0) > 0)) throw unknown(id);
    const session = known ?? this.begin(id ?? randomUUID(), who, response);
    const lastCursor = headerOf(request, "last-event-id");
    const sse = (request.headers.accept ?? "").split(",").some((type) => type.trim() === SSE);
    if (session.link?.open(response, { sse, received, lastCursor }) === true) return;
    void session.link?.close("it misses events that are not kept any more");
    throw unknown(id);
  }

  private async inbox(
    request: IncomingMessage,
    response: ServerResponse,
    who: Who,
    id: string | undefined,
  ): Promise<void> {
    const type = request.headers["content-type"] ?? "";
    if (!isLines(type)) {
      return refuseForm(response, 415, `the content type is ${JSON.stringify(type)}: send application/x-ndjson`);
    }
    if (request.headers["content-encoding"] !== undefined) {
      return refuseForm(response, 415, "a Content-Encoding is not taken: send the lines as they are");
    }
    if (id === undefined && this.options.begins === "stream") {
      throw new BytebotError("not_found", `the header ${CONNECTION} is missing: which connection is this for?`);
    }
    const session = id === undefined ? this.begin(randomUUID(), who, response) : this.find(id, who);
    if (!session?.link) throw unknown(id);
    const received = countOf(request, RECEIVED);
    if (received !== undefined) session.link.has(received);
    await session.link.inbox(request, response, countOf(request, BATCH));
  }

  private leave(response: ServerResponse, who: Who, id: string | undefined): void {
    const session = id === undefined ? undefined : this.find(id, who);
    if (!session?.link) throw unknown(id);
    answer(response, 200, "");
    session.link.leave();
  }

  /** A connection of another credential does not exist. */
  private find(id: string, who: Who): Session<Who> | undefined {
    const session = this.sessions.get(id);
    return session?.who === who ? session : undefined;
  }

  private begin(id: string, who: Who, response: ServerResponse): Session<Who> {
    if (this.sessions.size >= this.connections) {
      const message = `${this.connections} connections are open: end some, with DELETE /stream`;
      throw new BytebotError("overloaded", message, { retryable: true, retryAfterMs: 1000 });
    }
    if (this.sessions.has(id)) throw new BytebotError("conflict", "this connection is another's: choose a random id");
    const session: Session<Who> = { who, link: undefined };
    const { limits, answersLater, name } = this.options;
    const open = (receiver: Receiver): ServedLink => {
      const closed = (): void => void this.sessions.delete(id);
      const link = new ServedLink({ name: name(who), limits, answersLater, closed }, receiver);
      session.link = link;
      return link;
    };
    this.sessions.set(id, session);
    try {
      this.options.onConnection(open, who);
    } catch (error) {
      this.sessions.delete(id);
      throw error;
    }
    response.setHeader(CONNECTION, id);
    return session;
  }
}

async function closeAll(sessions: { link: ServedLink | undefined }[], reason: string): Promise<void> {
  await Promise.all(sessions.flatMap(({ link }) => (link ? [link.close(reason)] : [])));
}

function unknown(id: string | undefined): BytebotError {
  const which = id === undefined ? `the header ${CONNECTION} is missing` : "no such connection";
  return new BytebotError("not_found", `${which}: begin a new one with bb_sync`);
}

function headerOf(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}

function countOf(request: IncomingMessage, name: string): number | undefined {
  const value = headerOf(request, name);
  if (value === undefined) return undefined;
  if (!/^\d{1,15}$/.test(value)) throw badHeader(name, "a whole number");
  return Number(value);
}

function badHeader(name: string, needed: string): BytebotError {
  return new BytebotError("invalid_params", `the header ${name} is no ${needed}`);
}
