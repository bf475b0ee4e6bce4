import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { BytebotError, encode, type Event } from "../../wire/index.ts";
import type { Channel, Ear, Raw } from "../channel.ts";
import { Unmet } from "../check.ts";
import type { Trace } from "../trace.ts";
import { answerOf, Asker, type Answer, type Question, type Target } from "./ask.ts";
import { Stream } from "./stream.ts";

/** Of one inbox request. */
const MOST_LINES = 1000;
const MOST_CHARS = 1024 * 1024;
const ANSWER_MS = 30_000;
/** A Hub waits so long for a satellite that is not there yet, or that another Hub has just left (rule HTP-1). */
const THERE_MS = 10_000;
const RETRY_MS = 100;
/** It returns so often to a stream that broke, with growing waits. */
const RETURNS = 4;
const LEAVE_MS = 1000;

/** The Hub's side of a connection that it dials, by hand: what it does by itself a Hub does, and a check may do it otherwise. */
export class Dialing implements Channel {
  readonly id = randomUUID();
  readonly target: Target;
  readonly asker: Asker;
  readonly raw: Raw;
  /** Its stream: the newest one. */
  stream!: Stream;
  /** How many events of the stream have come. */
  received = 0;
  /** The number of the newest inbox request. */
  batch = 0;
  /** The check itself returns to a stream that breaks. */
  byHand = false;
  private readonly trace: Trace;
  private readonly ear: Ear;
  private pending: string[] = [];
  private work: Promise<void> = Promise.resolve();
  private ending: Promise<void> | undefined;

  constructor(target: Target, trace: Trace, ear: Ear) {
    this.target = target;
    this.trace = trace;
    this.ear = ear;
    this.asker = new Asker(target.token);
    this.raw = {
      write: (...pieces) => {
        trace.sentBytes(Buffer.concat(pieces));
        return this.next(() => this.deliver(pieces));
      },
    };
  }

  /** Rejects with BytebotError where the satellite cannot be reached for 10 s, or refuses the connection. */
  static async open(target: Target, trace: Trace, ear: Ear, signal: AbortSignal): Promise<Dialing> {
    const dialing = new Dialing(target, trace, ear);
    const until = Date.now() + THERE_MS;
    const stop = (): void => dialing.asker.close();
    signal.addEventListener("abort", stop, { once: true });
    try {
      for (;;) {
        const why = await dialing.begin();
        if (why === undefined) return dialing;
        if (!why.retryable || Date.now() > until || signal.aborted) throw why;
        await pause(RETRY_MS);
      }
    } catch (error) {
      stop();
      throw error;
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }

  /** The headers by which its requests are known to be of this connection. */
  get ours(): Record<string, string> {
    return { "bytebot-connection": this.id, "bytebot-received": String(this.received) };
  }

  send(event: Event): void {
    this.trace.sent(event);
    this.pending.push(encode(event));
    if (this.pending.length === 1) setImmediate(() => void this.next(() => this.flush()));
  }

  /** A GET of the stream with these headers beside the connection's. */
  async get(headers: Record<string, string>, ms: number): Promise<Stream> {
    const { stream } = this.target;
    const all = { accept: "application/x-ndjson", "bytebot-connection": this.id, ...headers };
    return new Stream(await this.asker.head(stream, { method: "GET", headers: all }, ms));
  }

  /** Returns to the stream, after so many of its events; what comes counts, and is heard. Throws Unmet where it is refused. */
  async return(headers: Record<string, string>, ms: number): Promise<void> {
    const { stream } = this.target;
    const all = { accept: "application/x-ndjson", "bytebot-connection": this.id, ...headers };
    const response = await this.asker.head(stream, { method: "GET", headers: all }, ms);
    if (response.statusCode !== 200) {
      const { status, lines } = await answerOf(response, stream, ms);
      throw new Unmet("200 to the GET of its stream", `${status} ${lines.join(" ").slice(0, 200)}`);
    }
    this.hear(response);
  }

  /** An inbox request of this connection; `headers` beside its own, an empty one leaves its own out. */
  async post(lines: string | readonly Uint8Array[], headers: Record<string, string>, ms: number): Promise<Answer> {
    const body = typeof lines === "string" ? [Buffer.from(lines)] : lines;
    const question: Question = { method: "POST", headers: this.posting(headers), body };
    return this.asker.ask(this.target.inbox, question, ms);
  }

  posting(headers: Record<string, string> = {}): Record<string, string> {
    const all = { "content-type": "application/x-ndjson", ...this.ours, ...headers };
    return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ""));
  }

  /** All that was sent so far is answered. */
  flushed(): Promise<void> {
    return this.next(() => this.flush());
  }

  close(reason: string): Promise<void> {
    this.ending ??= this.finish(reason);
    return this.ending;
  }

  private async begin(): Promise<BytebotError | undefined> {
    const { stream } = this.target;
    const headers = { accept: "application/x-ndjson", ...this.ours };
    try {
      const response = await this.asker.head(stream, { method: "GET", headers }, THERE_MS);
      const { statusCode = 0 } = response;
      if (statusCode === 200) {
        this.hear(response);
        return undefined;
      }
      const { lines } = await answerOf(response, stream, THERE_MS);
      const message = `${stream.href} answered with HTTP status ${statusCode}: ${lines.join(" ").slice(0, 200)}`;
      return new BytebotError("unavailable", message, { retryable: [409, 429, 503].includes(statusCode) });
    } catch (error) {
      if (!(error instanceof Unmet)) throw error;
      const message = `${stream.href} cannot be reached: ${error.got}`;
      return new BytebotError("unavailable", message, { retryable: true });
    }
  }

  private hear(response: Stream["response"]): void {
    this.stream = new Stream(response, (line) => {
      this.received++;
      this.ear.heard(this.trace.hearLine(line, false));
      // Nobody reads what is not kept.
      if (this.trace.overflow) response.pause();
    });
    void this.watch(this.stream);
  }

  /** Comes back to the stream when it breaks, as a Hub does. */
  private async watch(stream: Stream): Promise<void> {
    await stream.over;
    for (let tries = 1; !this.ending && !this.byHand && this.stream === stream; tries++) {
      try {
        await this.return({ "bytebot-received": String(this.received) }, THERE_MS);
      } catch (error) {
        const { got } = error as Unmet;
        if (tries === RETURNS || got.startsWith("4")) return this.lost(`its stream ${stream.end}; then: ${got}`);
        await pause(RETRY_MS * 2 ** tries);
      }
    }
  }

  private next(work: () => Promise<void>): Promise<void> {
    this.work = this.work.then(work).catch((error: unknown) => this.lost((error as Unmet).got ?? String(error)));
    return this.work;
  }

  private async flush(): Promise<void> {
    while (this.pending.length > 0 && !this.ending) {
      let count = 0;
      let chars = 0;
      while (count < this.pending.length && count < MOST_LINES) {
        chars += this.pending[count]!.length;
        if (count > 0 && chars > MOST_CHARS) break;
        count++;
      }
      await this.deliver([Buffer.from(this.pending.splice(0, count).join(""))]);
    }
  }

  private async deliver(pieces: readonly Uint8Array[]): Promise<void> {
    const headers = { "bytebot-batch": String(++this.batch) };
    const { status, lines } = await this.post(pieces, headers, ANSWER_MS);
    for (const line of lines) {
      // A bare acknowledgement says nothing that anybody waits for.
      if (!isAck(line)) this.ear.heard(this.trace.hearLine(Buffer.from(line), false));
    }
    if (status !== 200) this.lost(`its inbox answered with HTTP status ${status}`);
  }

  private lost(reason: string): void {
    if (!this.ending) void this.close(reason);
  }

  private async finish(reason: string): Promise<void> {
    const { work } = this;
    await Promise.race([work, pause(LEAVE_MS)]);
    try {
      await this.asker.ask(this.target.stream, { method: "DELETE", headers: this.ours }, LEAVE_MS);
    } catch {
      // It learns so when nobody returns.
    }
    this.stream?.cut();
    this.asker.close();
    this.ear.closed(reason);
  }
}

function isAck(line: string): boolean {
  try {
    return (JSON.parse(line) as { event_type?: unknown } | null)?.event_type === "bb_ack";
  } catch {
    return false;
  }
}
