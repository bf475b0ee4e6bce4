import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import { refuse, type Asked } from "./listening.ts";

/** One connection of a satellite that dials in: its stream, and the newest request of its inbox. */
export class Session {
  readonly id = randomUUID();
  /** Each line of the stream, in order; a return goes on after so many. */
  readonly lines: string[] = [];
  written = 0;
  stream: ServerResponse | undefined;
  batch: { number: number; answers: string } | undefined;
  over = false;
  private sse = false;

  send(line: string): void {
    this.lines.push(line);
    this.flush();
  }

  /** A line that somebody else has written. */
  wrote(line: string): void {
    this.lines.push(line);
    this.written++;
  }

  /** Its GET of the stream: it goes on after as many lines as that says. */
  open(asked: Asked, sse: boolean): void {
    const { response, headers } = asked;
    const count = headers["bytebot-received"];
    if (count !== undefined && Number(count) > this.written) {
      this.end();
      return refuse(asked, 404, "not_found", `only ${this.written} events were sent`);
    }
    if (count !== undefined) this.written = Number(count);
    this.stream?.destroy();
    this.stream = response;
    this.sse = sse;
    response.writeHead(200, {
      "content-type": sse ? "text/event-stream" : "application/x-ndjson",
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
    });
    response.flushHeaders();
    response.on("close", () => {
      if (this.stream === response) this.stream = undefined;
    });
    this.flush();
  }

  /** Says that its stream lives. */
  beat(): void {
    this.stream?.write(this.sse ? ":\n\n" : "\n");
  }

  end(): void {
    this.over = true;
    this.stream?.end();
    this.stream = undefined;
  }

  private flush(): void {
    const { stream } = this;
    if (!stream) return;
    let text = "";
    for (; this.written < this.lines.length; this.written++) {
      const line = this.lines[this.written]!;
      text += this.sse ? `: a comment\nid: check:${this.written}\ndata: ${line}\n` : line;
    }
    if (text !== "") stream.write(text);
  }
}
