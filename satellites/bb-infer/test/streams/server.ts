import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import type { Format, Refusal } from "../formats/index.ts";

/** What a server does with one request. */
export type Play = (response: ServerResponse) => void | Promise<void>;

export interface Heard {
  url: string;
  headers: IncomingHttpHeaders;
  body: Record<string, unknown>;
  /** When the connection ended, or the answer was all sent. */
  closed: Promise<void>;
}

export interface Server {
  /** `http://127.0.0.1:…` */
  origin: string;
  readonly heard: Heard[];
}

/** A server that plays one answer after the other, the last one again and again, until the test ends. */
export async function serving(t: TestContext, ...plays: Play[]): Promise<Server> {
  const heard: Heard[] = [];
  const server = createServer((request, response) => {
    // Whoever asks what it is and what it has learns nothing.
    if (request.method !== "POST" || request.url === "/api/show") return void response.writeHead(404).end();
    let text = "";
    const closed = new Promise<void>((resolve) => response.once("close", resolve));
    request.setEncoding("utf8").on("data", (part: string) => (text += part));
    request.on("end", () => {
      const body = text === "" ? {} : (JSON.parse(text) as Record<string, unknown>);
      heard.push({ url: request.url ?? "", headers: request.headers, body, closed });
      const play = plays[Math.min(heard.length, plays.length) - 1];
      // What a play throws after its client has left is of no interest.
      void Promise.resolve(play?.(response)).catch(() => response.destroy());
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, heard };
}

function begin(format: Format, response: ServerResponse): void {
  response.writeHead(200, { "content-type": format.contentType });
  response.flushHeaders();
}

/** Says all this, and ends. */
export function plays(format: Format, frames: readonly Buffer[]): Play {
  return (response) => {
    begin(format, response);
    response.end(Buffer.concat(frames));
  };
}

/** Says all this, a byte at a time, and ends. */
export function drips(format: Format, frames: readonly Buffer[]): Play {
  return async (response) => {
    begin(format, response);
    for (const byte of Buffer.concat(frames)) {
      response.write(Buffer.of(byte));
      await new Promise(setImmediate);
    }
    response.end();
  };
}

/** Says all this, and breaks off. */
export function breaks(format: Format, frames: readonly Buffer[]): Play {
  return (response) => {
    begin(format, response);
    response.write(Buffer.concat(frames), () => response.socket?.destroySoon());
  };
}

/** Says all this, and then nothing more. */
export function hangs(format: Format, frames: readonly Buffer[]): Play {
  return (response) => {
    begin(format, response);
    response.write(Buffer.concat(frames));
  };
}

export function refuses({ status, headers, body }: Refusal, more: Record<string, string> = {}): Play {
  return (response) => {
    response.writeHead(status, { ...headers, ...more });
    response.end(body);
  };
}
