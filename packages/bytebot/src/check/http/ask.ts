import { Agent, request as httpRequest, type ClientRequest, type IncomingMessage } from "node:http";
import { Agent as TlsAgent, request as httpsRequest } from "node:https";
import { setTimeout as pause } from "node:timers/promises";
import { Unmet } from "../check.ts";

const MOST_ANSWER = 4 * 1024 * 1024;
/** Without a pause pieces may be joined on their way. */
const PAUSE_MS = 50;

/** Where a satellite serves. */
export interface Target {
  stream: URL;
  inbox: URL;
  token?: string | undefined;
}

export interface Question {
  method: string;
  headers?: Record<string, string> | undefined;
  body?: readonly Uint8Array[] | undefined;
  /** Another address of the same server. */
  host?: string | undefined;
  /** Without the token, where there is one. */
  bare?: boolean | undefined;
}

/** What came of a request: its head, and its body where that ends. */
export interface Answer {
  status: number;
  headers: IncomingMessage["headers"];
  /** Lines that are not blank. */
  lines: string[];
}

/** Requests to one server by hand, each header and each byte of them. */
export class Asker {
  private readonly agent = new Agent({ keepAlive: true });
  private readonly tlsAgent = new TlsAgent({ keepAlive: true });
  private readonly token: string | undefined;
  private readonly open = new Set<ClientRequest>();

  constructor(token: string | undefined) {
    this.token = token;
  }

  /** Ends the requests that are under way. */
  close(): void {
    for (const request of this.open) request.destroy();
    this.agent.destroy();
    this.tlsAgent.destroy();
  }

  /** Begins a request; its body is the caller's to write. */
  begin(url: URL, question: Question): ClientRequest {
    const request = this.request(url, question);
    this.open.add(request);
    request.once("close", () => this.open.delete(request));
    return request;
  }

  /** Sends a request and resolves with its answer's head. Throws Unmet where none comes within `ms`, or the socket breaks. */
  async head(url: URL, question: Question, ms: number): Promise<IncomingMessage> {
    const { body } = question;
    const length = body?.reduce((sum, piece) => sum + piece.length, 0);
    const headers = { ...question.headers, ...(length === undefined ? {} : { "content-length": String(length) }) };
    const request = this.begin(url, { ...question, headers });
    const answered = headOf(request, url, ms);
    // What is answered before all of it was sent is an answer.
    answered.catch(() => undefined);
    for (const [index, piece] of (body ?? []).entries()) {
      if (index > 0) await pause(PAUSE_MS);
      if (request.writable) await new Promise<void>((resolve) => request.write(piece, () => resolve()));
    }
    request.end();
    return answered;
  }

  async ask(url: URL, question: Question, ms: number): Promise<Answer> {
    return answerOf(await this.head(url, question, ms), url, ms);
  }

  private request(url: URL, { method, headers = {}, host, bare }: Question): ClientRequest {
    const path = `${url.pathname}${url.search}`;
    // A stream's socket ends with it: only the inbox's are used again.
    const isPost = method === "POST";
    const own = this.token === undefined || bare === true ? {} : { authorization: `Bearer ${this.token}` };
    const all = { ...own, ...headers };
    if (url.protocol === "http+unix:") {
      const socketPath = decodeURIComponent(url.hostname);
      return httpRequest({
        method,
        path,
        socketPath,
        headers: { host: "localhost", ...all },
        agent: isPost && this.agent,
      });
    }
    const tls = url.protocol === "https:";
    const hostname = host ?? url.hostname.replace(/^\[|\]$/g, "");
    const { port } = url;
    const target = { hostname, ...(port === "" ? {} : { port }), path, method, headers: all };
    return tls
      ? httpsRequest({ ...target, agent: isPost && this.tlsAgent })
      : httpRequest({ ...target, agent: isPost && this.agent });
  }
}

/** The head of the answer to a request. Throws Unmet where none comes within `ms`. */
export function headOf(request: ClientRequest, url: URL, ms: number): Promise<IncomingMessage> {
  const expected = `an answer to ${request.method} ${url.pathname}`;
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(new Unmet(expected, `none in ${ms / 1000} s`));
      request.destroy();
    }, ms);
    request.once("response", (response) => {
      clearTimeout(timer);
      resolve(response);
    });
    request.on("error", (error) => reject(new Unmet(expected, error.message)));
    request.once("close", () => {
      clearTimeout(timer);
      reject(new Unmet(expected, "a socket that closed"));
    });
  });
}

/** Reads the answer to its end. Throws Unmet where that does not come within `ms`. */
export async function answerOf(response: IncomingMessage, url: URL, ms: number): Promise<Answer> {
  const parts: Buffer[] = [];
  let size = 0;
  const late = setTimeout(() => response.destroy(new Error(`it has not ended in ${ms / 1000} s`)), ms);
  try {
    for await (const part of response) {
      parts.push(part as Buffer);
      if ((size += (part as Buffer).length) > MOST_ANSWER) throw new Error(`more than ${MOST_ANSWER} bytes`);
    }
  } catch (error) {
    throw new Unmet(`a whole answer from ${url.pathname}`, (error as Error).message);
  } finally {
    clearTimeout(late);
    response.destroy();
  }
  const lines = Buffer.concat(parts)
    .toString()
    .split("\n")
    .filter((line) => line.trim() !== "");
  return { status: response.statusCode ?? 0, headers: response.headers, lines };
}
