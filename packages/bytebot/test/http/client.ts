import assert from "node:assert/strict";
import { once } from "node:events";
import { request as send, type IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import type { TestContext } from "node:test";
import { ByteBot, type ByteBotOptions } from "../../src/index.ts";
import * as bb from "../../src/sdk/index.ts";
import type { Event } from "../../src/wire/index.ts";

/** An app with an infer that repeats what it hears, serving HTTP on loopback; stopped with the test. */
export async function served(t: TestContext, options: ByteBotOptions = {}): Promise<{ hub: ByteBot; url: string }> {
  const hub = await app(t, options);
  await hub.attachInfer({ name: "repeats", main: repeats }, { primary: true }).ready;
  return { hub, url: await hub.serveHttp() };
}

/** An app that runs, and is stopped with the test. */
export async function app(t: TestContext, options: ByteBotOptions = {}): Promise<ByteBot> {
  const hub = new ByteBot({ report: () => undefined, ...options });
  t.after(() => hub.stop());
  await hub.start();
  return hub;
}

export const repeats: bb.Main = async () => {
  const satellite = await bb.sync({ kind: "infer" });
  satellite.onInfer((request, reply) => {
    const said = request.messages.at(-1)?.content.at(-1);
    reply.text(said?.type === "text" ? said.text : "nothing");
    return Promise.resolve({ stop_reason: "end_turn" });
  });
  await satellite.start();
};

export interface Answer {
  status: number;
  headers: Headers;
  lines: Event[];
}

/** A peer with nothing but fetch: one connection, its inbox and its stream. */
export class Peer {
  readonly events: Event[] = [];
  /** The stream, as it came. */
  raw = "";
  connection: string | undefined;
  private readonly url: string;
  private readonly headers: Record<string, string>;
  private readonly gone = new AbortController();
  private waiting: (() => void)[] = [];

  constructor(t: TestContext, url: string, headers: Record<string, string>) {
    this.url = url;
    this.headers = headers;
    t.after(() => this.gone.abort());
  }

  static withToken(t: TestContext, url: string, token: string): Peer {
    return new Peer(t, url, { authorization: `Bearer ${token}` });
  }

  async post(lines: string | Event | Event[], headers: Record<string, string> = {}): Promise<Answer> {
    const body =
      typeof lines === "string"
        ? lines
        : [lines]
            .flat()
            .map((event) => `${JSON.stringify(event)}\n`)
            .join("");
    const response = await fetch(`${this.url}/inbox`, {
      method: "POST",
      headers: { ...this.headers, ...this.own(), "content-type": "application/x-ndjson", ...headers },
      body,
    });
    const minted = response.headers.get("bytebot-connection");
    if (minted !== null) this.connection = minted;
    return { status: response.status, headers: response.headers, lines: toEvents(await response.text()) };
  }

  /** Says bb_sync; fails the test where it is refused. */
  async sync(fields: Record<string, unknown>): Promise<Event> {
    const { status, lines } = await this.post({ event_type: "bb_sync", ...fields });
    assert.deepEqual([status, lines.length, lines[0]?.event_type], [200, 1, "bb_sync_ack"], JSON.stringify(lines));
    return lines[0]!;
  }

  /** Opens the stream and reads it on; resolves with the answer's head. */
  async open(headers: Record<string, string> = {}, signal?: AbortSignal, query = ""): Promise<Response> {
    const response = await fetch(`${this.url}/stream${query}`, {
      headers: { ...this.headers, ...this.own(), ...headers },
      signal: signal ? AbortSignal.any([signal, this.gone.signal]) : this.gone.signal,
    });
    if (response.status === 200) void this.read(response);
    return response;
  }

  async leave(): Promise<number> {
    const headers = { ...this.headers, ...this.own() };
    return (await fetch(`${this.url}/stream`, { method: "DELETE", headers })).status;
  }

  /** The first event that fits, of what came and of what comes. */
  next(fits: (event: Event) => boolean): Promise<Event> {
    return this.until(() => this.events.find(fits));
  }

  /** The first of what `find` finds that is something, now or when more has come. */
  async until<Found>(find: () => Found | undefined): Promise<Found> {
    const deadline = AbortSignal.timeout(10_000);
    for (;;) {
      const found = find();
      if (found !== undefined) return found;
      if (deadline.aborted) throw new Error(`not among ${JSON.stringify(this.events.slice(-5))}`);
      await Promise.race([
        new Promise<void>((resolve) => this.waiting.push(resolve)),
        new Promise<void>((resolve) => deadline.addEventListener("abort", () => resolve(), { once: true })),
      ]);
    }
  }

  private own(): Record<string, string> {
    return this.connection === undefined ? {} : { "bytebot-connection": this.connection };
  }

  private async read(response: Response): Promise<void> {
    const sse = response.headers.get("content-type") === "text/event-stream";
    const decoder = new TextDecoder();
    let rest = "";
    try {
      for await (const chunk of response.body!) {
        const text = decoder.decode(chunk, { stream: true });
        this.raw += text;
        const lines = (rest + text).split("\n");
        rest = lines.pop()!;
        for (const line of lines) {
          const json = sse ? /^data: (.*)$/.exec(line)?.[1] : line;
          if (json) this.events.push(JSON.parse(json) as Event);
        }
        for (const resolve of this.waiting.splice(0)) resolve();
      }
    } catch {
      // The stream was cut, or the test is over.
    }
  }
}

/** One request with any headers, also those that fetch keeps to itself. */
export async function ask(
  url: string,
  { method = "GET", headers = {}, body }: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<{ status: number; headers: IncomingMessage["headers"]; text: string; lines: Event[] }> {
  const request = send(url, { method, headers, agent: false });
  request.end(body);
  const [response] = (await once(request, "response")) as [IncomingMessage];
  let text = "";
  response.setEncoding("utf8").on("data", (part: string) => (text += part));
  await once(response, "end");
  const isLines = response.headers["content-type"] === "application/x-ndjson";
  return { status: response.statusCode!, headers: response.headers, text, lines: isLines ? toEvents(text) : [] };
}

/** A socket with nothing on top: what a test writes to it goes out as it is. */
export class Wire {
  text = "";
  readonly socket: Socket;
  readonly connected: Promise<void>;
  /** Resolves when the other side has ended it. */
  readonly ended: Promise<void>;
  private waiting: (() => void)[] = [];

  constructor(t: TestContext, url: string) {
    const { hostname, port } = new URL(url);
    this.socket = connect(Number(port), hostname);
    this.socket.setEncoding("latin1").on("data", (text: string) => {
      this.text += text;
      for (const resolve of this.waiting.splice(0)) resolve();
    });
    this.socket.on("error", () => {});
    this.connected = new Promise((resolve) => this.socket.once("ready", () => resolve()));
    this.ended = new Promise((resolve) => this.socket.once("close", () => resolve()));
    t.after(() => this.socket.destroy());
  }

  write(text: string): void {
    this.socket.write(text, "latin1");
  }

  /** Waits until this is among what came. */
  async until(pattern: RegExp): Promise<void> {
    const gone = this.ended.then(() => "ended" as const);
    for (;;) {
      if (pattern.test(this.text)) return;
      const more = new Promise<void>((resolve) => this.waiting.push(resolve));
      if ((await Promise.race([more, gone])) === "ended" && !pattern.test(this.text))
        throw new Error(`the socket ended; it said ${JSON.stringify(this.text.slice(-500))}`);
    }
  }
}

export const message = (id: string | undefined, text: string, scope = "u_1"): Event => ({
  event_type: "user_event",
  ...(id === undefined ? {} : { id }),
  type: "message",
  scope,
  text,
});

function toEvents(text: string): Event[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Event);
}
