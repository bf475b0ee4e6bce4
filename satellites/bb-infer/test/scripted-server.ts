import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Heard {
  url: string;
  headers: IncomingMessage["headers"];
  body: Record<string, unknown>;
}

type Answer = (response: ServerResponse) => void | Promise<void>;

/** What is asked of a server to know what kind it is, before it is asked for an answer. */
const PROBE = /^\/(?:props$|api\/|v1\/models$)/;

/** A server that plays one answer after the other, the last one again and again. It is of no kind that says more. */
export class ScriptedServer implements AsyncDisposable {
  readonly baseUrl: string;
  readonly heard: Heard[] = [];
  private readonly server: ReturnType<typeof createServer>;

  private constructor(server: ReturnType<typeof createServer>) {
    this.server = server;
    this.baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  }

  static async start(...answers: Answer[]): Promise<ScriptedServer> {
    return ScriptedServer.listen(answers, PROBE);
  }

  /** Answers whatever it is asked, also which models it has. */
  static async always(answer: Answer): Promise<ScriptedServer> {
    return ScriptedServer.listen([answer], undefined);
  }

  private static async listen(answers: readonly Answer[], probe: RegExp | undefined): Promise<ScriptedServer> {
    const server = createServer((request, response) => {
      let text = "";
      request.setEncoding("utf8").on("data", (part: string) => (text += part));
      request.on("end", () => {
        if (probe?.test(request.url ?? "")) return void response.writeHead(404).end();
        const body = text === "" ? {} : (JSON.parse(text) as Record<string, unknown>);
        started.heard.push({ url: request.url ?? "", headers: request.headers, body });
        const answer = answers[Math.min(started.heard.length, answers.length) - 1];
        // What an answer throws after its client has left is of no interest.
        void Promise.resolve(answer?.(response)).catch(() => response.destroy());
      });
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const started = new ScriptedServer(server);
    return started;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, "close");
  }
}

export function begin(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
}

export function line(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

export function delta(delta: object, finish_reason: string | null = null): string {
  return line({ id: "c_1", choices: [{ index: 0, delta, finish_reason }] });
}

export function failure(
  status: number,
  message: string,
  more: { headers?: Record<string, string>; code?: string } = {},
) {
  return (response: ServerResponse) => {
    response.writeHead(status, { "content-type": "application/json", ...more.headers });
    response.end(JSON.stringify({ error: { message, code: more.code } }));
  };
}

/** A whole good answer. */
export function answer(...texts: string[]): (response: ServerResponse) => void {
  return (response) => {
    begin(response);
    for (const content of texts) response.write(delta({ content }));
    response.write(delta({}, "stop"));
    response.write(
      line({
        id: "c_1",
        choices: [],
        usage: { prompt_tokens: 12, completion_tokens: texts.length, prompt_tokens_details: { cached_tokens: 4 } },
      }),
    );
    response.end("data: [DONE]\n\n");
  };
}
