import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { ByteBot, type ByteBotOptions } from "../../src/index.ts";
import * as bb from "../../src/sdk/index.ts";
import type { Event } from "../../src/wire/index.ts";

/** An app with an infer that repeats what it hears, serving HTTP on loopback; stopped with the test. */
export async function served(t: TestContext, options: ByteBotOptions = {}): Promise<{ hub: ByteBot; url: string }> {
  const hub = new ByteBot({ report: () => undefined, ...options });
  hub.attachInfer({ name: "repeats", main: repeats }, { primary: true });
  await hub.start();
  t.after(() => hub.stop());
  return { hub, url: await hub.serveHttp() };
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
  async open(headers: Record<string, string> = {}, signal?: AbortSignal): Promise<Response> {
    const response = await fetch(`${this.url}/stream`, {
      headers: { ...this.headers, ...this.own(), ...headers },
      signal: signal ? AbortSignal.any([signal, this.gone.signal]) : this.gone.signal,
    });
    if (response.status === 200) void this.read(response);
    return response;
  }

  async leave(): Promise<number> {
    const response = await fetch(`${this.url}/stream`, {
      method: "DELETE",
      headers: { ...this.headers, ...this.own() },
    });
    return response.status;
  }

  /** The first event that fits, of what came and of what comes. */
  async next(fits: (event: Event) => boolean): Promise<Event> {
    const deadline = AbortSignal.timeout(10_000);
    for (;;) {
      const found = this.events.find(fits);
      if (found) return found;
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
        const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
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

function toEvents(text: string): Event[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Event);
}
