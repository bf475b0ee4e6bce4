import type { IncomingMessage, ServerResponse } from "node:http";
import { ackNameOf, BytebotError, HIGH_WATER, type Event, type LineLimits } from "../../wire/index.ts";
import { leaveSoon, read } from "../leave.ts";
import { lineOr } from "../lines.ts";
import type { Link, Receiver } from "../link.ts";
import { LineReader } from "../reader.ts";
import { answer, errorLine } from "./answer.ts";
import { takeBody } from "./body.ts";
import { HEARTBEAT_MS, MAX_UNSENT, NDJSON, RETURN_MS, SSE } from "./headers.ts";
import { Held } from "./held.ts";
import { Post } from "./post.ts";
import { heartbeat, toSse } from "./sse.ts";

/** What a peer that stopped reading may still be sent when the link closes, in milliseconds. */
const FLUSH_MS = 1000;
/** After so many of those without progress it has stopped reading. */
const STILL = 3;
/** Inbox requests that wait for the one in flight: a broken one and its repetition, and a little patience. */
const MAX_POSTS = 4;

/** Lines of one inbox request; their answers are kept for its repetition. */
const MAX_LINES = 10_000;

export interface ServedOptions {
  /** For people: who dialled. */
  name: string;
  limits?: LineLimits | undefined;
  /** Does this side's own answer to the event, a `bb_ack` or `bb_error`, come later than from the link? */
  answersLater: (event: Event) => boolean;
  /** The link has closed; its id means nothing any more. */
  closed: () => void;
}

/** How a peer came for the stream: with what it has already, and in which form it wants the rest. */
export interface StreamRequest {
  sse: boolean;
  received?: number | undefined;
  lastCursor?: string | undefined;
}

/** The side of an HTTP connection that serves `/stream` and `/inbox`; it outlives its sockets (rules HTP-3 to HTP-9). */
export class ServedLink implements Link {
  readonly name: string;
  private readonly options: ServedOptions;
  private readonly receiver: Receiver;
  private readonly reader: LineReader;
  private readonly held = new Held();
  private stream: { response: ServerResponse; sse: boolean } | undefined;
  /** Was there a stream yet? Then its next one is a return. */
  private began = false;
  /** Does the peer count what it gets? */
  private counts = false;
  /** Do both acknowledge events by their name (rule HTP-10)? The satellite's bb_sync says so, whichever side that is. */
  private acks = false;
  private post: Post | undefined;
  private request: IncomingMessage | undefined;
  /** The newest inbox request that was counted: how far it came, and what it was answered. */
  private batch: { number: number; answers: string[] } = { number: 0, answers: [] };
  private posts: Promise<void> = Promise.resolve();
  private waitingPosts = 0;
  private readonly heartbeat: NodeJS.Timeout;
  private returning: NodeJS.Timeout | undefined;
  private ending: Promise<void> | undefined;
  private isClosed = false;
  private readonly left = Promise.withResolvers<void>();
  private waiting: (() => void)[] = [];

  constructor(options: ServedOptions, receiver: Receiver) {
    this.name = options.name;
    this.options = options;
    this.receiver = receiver;
    const counted: Receiver = {
      event: (event) => this.received(event),
      fault: (error) => this.faulty(error),
      closed: () => undefined,
    };
    const givenUp = (reason: string): void => void this.close(reason);
    this.reader = new LineReader({ name: options.name, receiver: counted, limits: options.limits, givenUp });
    this.heartbeat = setInterval(() => this.beat(), HEARTBEAT_MS);
    this.awaitReturn();
  }

  send(event: Event, known?: () => string): void {
    if (this.ending) return;
    const line = lineOr(this.receiver, event, known);
    if (line === undefined) return;
    this.acks ||= announcesAcks(event);
    if (this.post?.takes(event, line)) return;
    this.held.push({ line, cursor: textOf(event["cursor"]), name: ackNameOf(event) });
    if (this.held.waiting > MAX_UNSENT) return void this.close(`it takes too little: ${MAX_UNSENT} characters wait`);
    leaveSoon(this);
  }

  /** Is its stream open now? Otherwise the peer may still return. */
  get connected(): boolean {
    return this.stream !== undefined;
  }

  get buffered(): number {
    return this.held.waiting + (this.stream?.response.writableLength ?? 0);
  }

  drained(): Promise<void> {
    this.flush();
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

  /** The peer's GET of the stream; an older one ends. False where what it misses is gone: it has to start anew. */
  open(response: ServerResponse, request: StreamRequest): boolean {
    if (this.ending || !this.resume(request)) return false;
    const { sse } = request;
    this.stream?.response.destroy();
    clearTimeout(this.returning);
    this.began = true;
    const stream = { response, sse };
    this.stream = stream;
    response.writeHead(200, {
      "content-type": sse ? SSE : NDJSON,
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
    });
    response.flushHeaders();
    response.on("drain", () => this.flush());
    // Its "close" says so too.
    response.on("error", () => {});
    response.on("close", () => this.lost(stream));
    this.flush();
    return true;
  }

  /** The peer's POST: each line is answered with a line, in order; one request at a time (rule HTP-4). */
  inbox(request: IncomingMessage, response: ServerResponse, batch: number | undefined): Promise<void> {
    if (this.waitingPosts >= MAX_POSTS) {
      throw new BytebotError("overloaded", "one inbox request at a time: wait for the answer of the last one", {
        retryable: true,
        retryAfterMs: 100,
      });
    }
    this.waitingPosts++;
    // Whoever sends a request again has given up the one before, which may not know it yet.
    if (batch !== undefined && batch === this.batch.number) {
      this.request?.destroy();
      this.post?.cut();
    }
    this.posts = this.posts
      .then(() => this.take(request, response, batch))
      .catch((error: unknown) => this.receiver.fault(BytebotError.from(error)))
      .finally(() => this.waitingPosts--);
    return this.posts;
  }

  /** The peer counts what it has; or names the last cursor it saw; or acknowledges by name; or takes what comes. */
  private resume({ received, lastCursor }: StreamRequest): boolean {
    if (received !== undefined) this.counts = true;
    const has =
      received !== undefined
        ? this.held.received(received)
        : lastCursor === undefined || this.held.receivedCursor(lastCursor);
    if (!has) return false;
    const names = received !== undefined || lastCursor !== undefined;
    if (this.began && (names || this.acks)) this.held.rewind(!names);
    return true;
  }

  /** The peer ended the connection. */
  leave(): void {
    this.left.resolve();
    void this.close("it ended the connection");
  }

  /** What the peer has of the stream need not be kept for it. */
  has(received: number): void {
    this.held.received(received);
  }

  private async take(request: IncomingMessage, response: ServerResponse, number: number | undefined): Promise<void> {
    if (number !== undefined && number < this.batch.number) {
      const message = `request ${number} of this connection came after request ${this.batch.number}: only the newest may be repeated`;
      return answer(response, 409, errorLine(new BytebotError("conflict", message)));
    }
    if (this.isClosed) return answer(response, 404, errorLine(ended));
    const again = number !== undefined && number === this.batch.number;
    const answers = again ? this.batch.answers : [];
    if (number !== undefined) this.batch = { number, answers };
    const post = new Post(answers);
    this.post = post;
    this.request = request;
    try {
      // Also of a request that is too long the rest is read: its answer would not be, otherwise.
      await takeBody(request, (chunk) => {
        if (post.answers.length <= MAX_LINES) read(chunk, this.reader);
      });
      if (post.answers.length > MAX_LINES) this.reader.cut();
      else this.reader.end();
    } catch {
      // The socket broke: what came of the request counts, and its repetition goes on after it.
      this.reader.cut();
      post.cut();
    }
    const isWhole = !this.isClosed;
    await post.answered();
    this.post = undefined;
    this.request = undefined;
    const lines = post.answers.join("");
    if (!isWhole) answer(response, 404, lines + errorLine(ended));
    else if (post.answers.length > MAX_LINES) answer(response, 413, lines + errorLine(tooMany));
    else answer(response, 200, lines);
  }

  private received(event: Event): void {
    const { post } = this;
    if (post?.skips()) return;
    this.acks ||= announcesAcks(event);
    if (event.event_type === "bb_ack" && typeof event["in_reply_to"] === "string") this.held.ack(event["in_reply_to"]);
    post?.begin(event, this.options.answersLater(event));
    try {
      this.receiver.event(event);
      const taken = post && this.receiver.settled?.();
      if (taken) post.hold(event, taken);
      else post?.done(event);
    } catch (thrown) {
      const error = BytebotError.from(thrown);
      this.receiver.fault(error);
      post?.failed(error);
    }
  }

  private faulty(error: BytebotError): void {
    const { post } = this;
    if (post?.skips()) return;
    post?.begin(undefined, false);
    try {
      this.receiver.fault(error);
    } finally {
      post?.failed(error);
    }
  }

  /** Writes what waits, as far as the peer takes it. */
  flush(): void {
    const { stream } = this;
    if (!stream || stream.response.writableLength > HIGH_WATER) return;
    let lines = "";
    for (let entry = this.held.take(); entry; entry = this.held.take()) {
      lines += stream.sse ? toSse(entry.line, entry.cursor) : entry.line;
      if (lines.length > HIGH_WATER) break;
    }
    if (lines !== "") stream.response.write(lines);
    if (this.buffered < HIGH_WATER) this.release();
  }

  private beat(): void {
    if (this.stream && this.stream.response.writableLength === 0)
      this.stream.response.write(this.stream.sse ? heartbeat.sse : heartbeat.ndjson);
  }

  private lost(stream: object): void {
    if (this.stream !== stream) return;
    this.stream = undefined;
    if (!this.ending) this.awaitReturn();
  }

  private awaitReturn(): void {
    clearTimeout(this.returning);
    const late = `it did not ${this.began ? "return to" : "come for"} its stream within ${RETURN_MS / 1000} s`;
    this.returning = setTimeout(() => void this.close(late), RETURN_MS);
  }

  private async finish(reason: string): Promise<void> {
    clearInterval(this.heartbeat);
    clearTimeout(this.returning);
    this.flushAll();
    this.release();
    const response = this.stream?.response;
    if (response && !response.destroyed) {
      await end(response);
      // What it answers to the last lines still counts, until it has left: a peer that counts says so when it does.
      if (this.counts) await within(FLUSH_MS, this.left.promise);
    }
    // The inbox request that is being read is answered like any other.
    await within(FLUSH_MS, this.posts);
    this.post?.cut();
    await within(FLUSH_MS, this.posts);
    this.reader.close();
    this.isClosed = true;
    this.options.closed();
    this.receiver.closed(reason);
  }

  /** The last lines, whatever the socket holds already: there is no later. */
  private flushAll(): void {
    const { stream } = this;
    if (!stream) return;
    for (let entry = this.held.take(); entry; entry = this.held.take())
      stream.response.write(stream.sse ? toSse(entry.line, entry.cursor) : entry.line);
  }

  private release(): void {
    const waiting = this.waiting;
    this.waiting = [];
    for (const resolve of waiting) resolve();
  }
}

const ended = new BytebotError("not_found", "the connection has ended: begin a new one with bb_sync");
const tooMany = new BytebotError("too_large", `at most ${MAX_LINES} lines a request`);

/** Ends the response; a peer that has stopped reading it is given up. */
async function end(response: ServerResponse): Promise<void> {
  const closed = new Promise((resolve) => response.once("close", resolve));
  let left = Infinity;
  let still = 0;
  const watch = setInterval(() => {
    const now = response.writableLength + (response.socket?.writableLength ?? 0);
    still = now < left ? 0 : still + 1;
    // A large write is one piece: it shows no progress until all of it was taken.
    if (still === STILL) response.destroy();
    left = now;
  }, FLUSH_MS);
  response.end();
  await closed;
  clearInterval(watch);
}

/** Resolves with the promise, or when the time is up. */
async function within(ms: number, promise: Promise<unknown>): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  await Promise.race([promise, late]);
  clearTimeout(timer);
}

function announcesAcks(event: Event): boolean {
  if (event.event_type !== "bb_sync") return false;
  const capabilities = event["capabilities"];
  return typeof capabilities === "object" && capabilities !== null && "acks" in capabilities;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
