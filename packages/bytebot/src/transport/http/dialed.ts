import type { IncomingMessage } from "node:http";
import { setImmediate as breathe } from "node:timers/promises";
import { BytebotError, HIGH_WATER, wide, type Event, type LineLimits } from "../../wire/index.ts";
import { leaveSoon, read } from "../leave.ts";
import { lineOr } from "../lines.ts";
import type { Link, Receiver } from "../link.ts";
import { LineReader } from "../reader.ts";
import { pause } from "./pause.ts";
import { BATCH, CONNECTION, isLines, MAX_UNSENT, NDJSON, RECEIVED, RETURN_MS, SILENT_MS, SSE } from "./headers.ts";
import { notOurs, refusal } from "./refusal.ts";
import { answerOf, Client } from "./request.ts";
import { SseReader } from "./sse.ts";

/** Of one inbox request. */
const MAX_LINES = 1000;
const MAX_CHARS = 1024 * 1024;
const MAX_ANSWERS = 4 * 1024 * 1024;
/** So much of an answer is taken before others have their turn. */
const PIECE = 64 * 1024;
const MAX_REFUSAL = 64 * 1024;
const FIRST_WAIT_MS = 50;
/** A stream that ends sooner was none: its next GET waits, a little longer each time. */
const STREAM_MS = 1000;
const LAST_WAIT_MS = 2000;
/** What the last lines may take when the link closes, in milliseconds. */
const FLUSH_MS = 1000;

export interface DialOptions {
  /** For people: what is at the other end. */
  name: string;
  stream: URL;
  inbox: URL;
  token?: string | undefined;
  /** text/event-stream where it is "sse"; the answer's own type decides how it is read. */
  format?: "ndjson" | "sse" | undefined;
  /** The connection's id where this side mints it, as a Hub does that dials a satellite. Absent: the other side does, in the answer to our first event. */
  connection?: string | undefined;
  limits?: LineLimits | undefined;
  publicOnly?: boolean | undefined;
}

/** The side of an HTTP connection that dials: events come on `/stream`, and go to `/inbox` (rules HTP-3 to HTP-9). */
export class DialedLink implements Link {
  readonly name: string;
  private readonly options: DialOptions;
  private readonly receiver: Receiver;
  private readonly reader: LineReader;
  private readonly answers: LineReader;
  private readonly client: Client;
  private connection: string | undefined;
  private queue: string[] = [];
  private queued = 0;
  private posting = false;
  private batch = 0;
  private received = 0;
  private failure: BytebotError | undefined;
  private readonly ended = new AbortController();
  private ending: Promise<void> | undefined;
  private waiting: (() => void)[] = [];
  private idle: (() => void)[] = [];

  constructor(options: DialOptions, receiver: Receiver) {
    this.name = options.name;
    this.options = options;
    this.receiver = receiver;
    this.connection = options.connection;
    this.client = new Client(options);
    const counted: Receiver = {
      event: (event) => {
        this.received++;
        this.take(event);
      },
      fault: (error) => {
        this.received++;
        receiver.fault(error);
      },
      closed: () => undefined,
    };
    // A bare acknowledgement says nothing that anybody waits for.
    const answered: Receiver = {
      event: (event) => {
        if (event.event_type !== "bb_ack" || event["in_reply_to"] !== undefined) this.take(event);
      },
      fault: (error) => receiver.fault(error),
      closed: () => undefined,
    };
    const givenUp = (reason: string): void => void this.close(reason);
    this.reader = new LineReader({ name: this.name, receiver: counted, limits: options.limits, givenUp });
    this.answers = new LineReader({ name: this.name, receiver: answered, limits: wide, givenUp });
  }

  /** Why the connection ended by itself; undefined while it is there, or where `close` ended it. */
  get lost(): BytebotError | undefined {
    return this.failure;
  }

  /** Opens the stream of a connection whose id is known; rejects where it is refused, or cannot be reached for 10 s. */
  async open(signal: AbortSignal): Promise<void> {
    const abort = (): void => void this.close("the attach was called off");
    signal.addEventListener("abort", abort, { once: true });
    try {
      signal.throwIfAborted();
      void this.listen(await this.again("stream", () => this.get()));
    } catch (error) {
      await this.close(BytebotError.from(error).message);
      throw BytebotError.from(error);
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  send(event: Event, known?: () => string): void {
    if (this.ending) return;
    const line = lineOr(this.receiver, event, known);
    if (line === undefined) return;
    this.queue.push(line);
    this.queued += line.length;
    if (this.queued > MAX_UNSENT)
      return this.lose(new BytebotError("overloaded", `${this.name} takes too little: ${MAX_UNSENT} characters wait`));
    if (!this.posting) leaveSoon(this);
  }

  /** Sends what is queued, where no request is under way that will be followed by another. */
  flush(): void {
    if (this.posting || this.queue.length === 0) return;
    this.posting = true;
    void this.pump();
  }

  get buffered(): number {
    return this.queued;
  }

  drained(): Promise<void> {
    if (this.buffered < HIGH_WATER || this.ending) return Promise.resolve();
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  limit(limits: LineLimits): void {
    this.reader.limit(limits);
  }

  close(reason: string): Promise<void> {
    this.ending ??= this.finish(reason);
    return this.ending;
  }

  private lose(error: unknown): void {
    if (this.ending) return;
    this.failure = BytebotError.from(error);
    void this.close(this.failure.message);
  }

  /** Sends what is queued, request by request, until nothing is left. */
  private async pump(): Promise<void> {
    try {
      while (this.queue.length > 0 && !this.ended.signal.aborted) await this.post();
    } catch (error) {
      this.posting = false;
      this.lose(error);
    }
    this.posting = false;
    for (const resolve of this.idle.splice(0)) resolve();
  }

  private async post(): Promise<void> {
    let count = 0;
    let chars = 0;
    // The first event of a connection goes alone: its answer says which connection that is.
    const most = this.connection === undefined ? 1 : MAX_LINES;
    while (count < this.queue.length && count < most && (count === 0 || chars + this.queue[count]!.length <= MAX_CHARS))
      chars += this.queue[count++]!.length;
    const body = this.queue.slice(0, count).join("");
    const number = ++this.batch;
    const answers = await this.again("inbox", () => this.deliver(body, number));
    this.queue.splice(0, count);
    this.queued -= chars;
    if (this.buffered < HIGH_WATER) this.release();
    const bytes = Buffer.from(answers);
    for (let at = 0; at < bytes.length; at += PIECE) {
      this.answers.push(bytes.subarray(at, at + PIECE));
      if (bytes.length > PIECE) await breathe();
    }
    this.answers.end();
  }

  private async deliver(body: string, number: number): Promise<string> {
    const first = this.connection === undefined;
    const headers: Record<string, string> = { "content-type": NDJSON };
    if (!first) Object.assign(headers, this.ours(), { [BATCH]: String(number) });
    const response = await this.client.send(this.options.inbox, {
      method: "POST",
      headers,
      body,
      signal: this.ended.signal,
    });
    const { inbox } = this.options;
    const text = await answerOf(inbox, response, MAX_ANSWERS);
    if (response.statusCode !== 200) throw refusal(inbox, response.statusCode ?? 0, text);
    if (first) {
      const minted = response.headers[CONNECTION];
      if (typeof minted !== "string") throw notOurs(inbox, `no header ${CONNECTION}`);
      this.connection = minted;
      void this.again("stream", () => this.get()).then(
        (stream) => this.listen(stream),
        (error: unknown) => this.lose(error),
      );
    }
    return text;
  }

  private take(event: Event): void {
    try {
      this.receiver.event(event);
    } catch (error) {
      this.receiver.fault(BytebotError.from(error));
    }
  }

  private async get(): Promise<IncomingMessage> {
    const { stream, format } = this.options;
    const accept = format === "sse" ? SSE : `${NDJSON}, ${SSE};q=0.5`;
    const headers = { accept, ...this.ours() };
    const { signal } = this.ended;
    const response = await this.client.send(stream, { method: "GET", headers, signal, waitMs: RETURN_MS });
    const { statusCode = 0, headers: its } = response;
    if (statusCode !== 200) throw refusal(stream, statusCode, await answerOf(stream, response, MAX_REFUSAL));
    const type = its["content-type"] ?? "";
    if (its["content-encoding"] === undefined && (isLines(type) || type.startsWith(SSE))) return response;
    response.destroy();
    throw notOurs(
      stream,
      `the content type ${JSON.stringify(type.slice(0, 100))}${its["content-encoding"] ? ", encoded" : ""}`,
    );
  }

  private ours(): Record<string, string> {
    return { [CONNECTION]: this.connection ?? "", [RECEIVED]: String(this.received) };
  }

  /** Reads the stream, and comes back to it when it breaks, until the other side does not know the connection any more. */
  private async listen(first: IncomingMessage): Promise<void> {
    let response = first;
    try {
      for (let wait = 0; ; wait = Math.min(2 * wait + 10, LAST_WAIT_MS)) {
        const since = performance.now();
        await this.read(response);
        if (this.ending) return;
        if (performance.now() - since > STREAM_MS) wait = 0;
        await pause(wait, this.ended.signal);
        response = await this.again("stream", () => this.get());
      }
    } catch (error) {
      this.lose(error);
    }
  }

  private async read(response: IncomingMessage): Promise<void> {
    const type = String(response.headers["content-type"] ?? "");
    const into = type.startsWith(SSE) ? new SseReader(this.reader) : this.reader;
    // Where its length is not known, a stream that broke looks like one that ended: only whole lines count.
    const { "transfer-encoding": chunked, "content-length": length } = response.headers;
    const isWhole = (): boolean => response.readableEnded && (chunked ?? length) !== undefined;
    const { promise, resolve } = Promise.withResolvers<void>();
    const silent = setTimeout(() => response.destroy(), SILENT_MS);
    response.on("data", (chunk: Buffer) => {
      silent.refresh();
      read(chunk, into);
    });
    // Its "close" says so too.
    response.on("error", () => {});
    response.once("close", resolve);
    await promise;
    clearTimeout(silent);
    if (isWhole()) into.end();
    else this.reader.cut();
  }

  /** Tries until it works, for as long as the other side keeps the connection; a refusal is final. */
  private async again<T>(what: "stream" | "inbox", work: () => Promise<T>): Promise<T> {
    let until: number | undefined;
    for (let wait = FIRST_WAIT_MS; ; wait *= 2) {
      try {
        return await work();
      } catch (thrown) {
        const error = BytebotError.from(thrown);
        if (!error.retryable || this.ended.signal.aborted) throw error;
        const now = performance.now();
        const ms = Math.max(error.retryAfterMs ?? 0, wait);
        until ??= now + RETURN_MS;
        if (now + ms > until) {
          const message = `${this.name} could not be reached at its ${what} for ${RETURN_MS / 1000} s: ${error.message}`;
          throw new BytebotError("unavailable", message, { cause: error });
        }
        await pause(ms, this.ended.signal);
      }
    }
  }

  private async finish(reason: string): Promise<void> {
    this.release();
    // A connection that was lost takes nothing any more.
    if (!this.failure) this.flush();
    if (this.posting && !this.failure) await this.flushed();
    await this.leave();
    this.reader.close();
    this.answers.close();
    this.ended.abort(new BytebotError("cancelled", reason));
    this.client.close();
    this.receiver.closed(reason);
  }

  /** Everything that was queued has left, or the other side takes nothing any more. */
  private flushed(): Promise<void> {
    return new Promise((resolve) => {
      let left = this.queued;
      const watch = setInterval(() => {
        if (this.queued >= left) done();
        left = this.queued;
      }, FLUSH_MS);
      function done(): void {
        clearInterval(watch);
        resolve();
      }
      this.idle.push(done);
    });
  }

  /** Tells the other side not to wait for a return. */
  private async leave(): Promise<void> {
    if (this.connection === undefined) return;
    const signal = AbortSignal.any([this.ended.signal, AbortSignal.timeout(FLUSH_MS)]);
    try {
      const response = await this.client.send(this.options.stream, { method: "DELETE", headers: this.ours(), signal });
      response.resume();
    } catch {
      // It learns so when nobody returns.
    }
  }

  private release(): void {
    const waiting = this.waiting;
    this.waiting = [];
    for (const resolve of waiting) resolve();
  }
}
