import type { ServerResponse } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import type { Reached } from "../../app/reached.ts";
import type { ChildStreams } from "../../transport/index.ts";
import { encode, nameOf, type Event } from "../../wire/index.ts";
import type { Channel, Ear, Raw } from "../channel.ts";
import { Unmet } from "../check.ts";
import { acknowledge } from "../manners.ts";
import { Trace, type Received } from "../trace.ts";
import { answer, refuse, type Asked, type Listening } from "./listening.ts";
import { Session } from "./session.ts";

const HEARTBEAT_MS = 15_000;
const SYNC_MS = 10_000;
/** Without a pause pieces may be joined on their way. */
const PAUSE_MS = 50;
/** A program that dials in does not see its stdin end; it is told by TERM. */
const GRACE_MS = 200;
const MOST_SEEN = 50_000;
const MOST_BYTES = 128 * 1024 * 1024;
const COUNT = /^\d{1,15}$/;

/**
 * The Hub's side of a program that dials in, by hand: what it does by itself a Hub does, and a check may do it otherwise,
 * by `play`.
 */
export class Serving implements Channel {
  readonly token: string;
  /** Every request that came, oldest first. */
  readonly seen: Asked[] = [];
  /** Connections that it began, oldest first. */
  readonly sessions: Session[] = [];
  /** A check's own answer to a request: true where it gave, or will give, one. */
  play: ((asked: Asked) => boolean) | undefined;
  /** Its stream is answered with text/event-stream. */
  sse = false;
  /** Nothing says that a quiet stream lives. */
  silent = false;
  readonly raw: Raw;
  private readonly listening: Listening;
  private readonly trace: Trace;
  private readonly ear: Ear;
  private program: ChildStreams | undefined;
  /** The bb_sync that waits for what the check says to it. */
  private syncing: Asked | undefined;
  /** The inbox's line that is being heard. */
  private current: { name: string | undefined; line: string | undefined } | undefined;
  private readonly waiting = new Set<() => void>();
  private readonly heartbeat: NodeJS.Timeout;
  private bytes = 0;
  private ending: Promise<void> | undefined;

  constructor(listening: Listening, trace: Trace, ear: Ear) {
    this.listening = listening;
    this.token = listening.newToken();
    this.trace = trace;
    this.ear = ear;
    this.heartbeat = setInterval(() => this.silent || this.session?.beat(), HEARTBEAT_MS);
    this.raw = { write: (...pieces) => this.write(pieces) };
  }

  /** Starts the program; it is told by its environment where its Hub is, and its token. */
  static async open(
    start: NonNullable<Reached["start"]>,
    listening: Listening,
    trace: Trace,
    ear: Ear,
    signal: AbortSignal,
  ): Promise<Serving> {
    const serving = new Serving(listening, trace, ear);
    listening.add(serving);
    const env = { BYTEBOT_HUB: listening.url, BYTEBOT_TOKEN: serving.token };
    try {
      serving.program = await start(signal, (line) => trace.stderr(line), { env, graceMs: GRACE_MS });
    } catch (error) {
      await serving.close("it was not started");
      throw error;
    }
    const { readable, writable, exited, why } = serving.program;
    readable.on("data", (chunk: Buffer) => trace.stderr(chunk.toString().trimEnd()));
    readable.on("error", () => undefined);
    writable.on("error", () => undefined);
    void exited.then(async () => serving.close((await why?.("it ended")) ?? "it ended"));
    return serving;
  }

  /** The newest connection that is not over. */
  get session(): Session | undefined {
    return this.sessions.findLast(({ over }) => !over);
  }

  owns(connection: string): boolean {
    return this.sessions.some(({ id }) => id === connection);
  }

  send(event: Event): void {
    this.trace.sent(event);
    const line = encode(event);
    const { event_type: type, in_reply_to: name } = event;
    if (this.syncing && (type === "bb_sync_ack" || type === "bb_error")) {
      answer(this.syncing, 200, line, { "bytebot-connection": this.session!.id });
      this.syncing = undefined;
      return;
    }
    if (this.current && this.current.name === name && (type === "bb_ack" || type === "bb_error"))
      return void (this.current.line = line);
    const { session } = this;
    if (!session) return;
    session.send(line);
  }

  /** The next request that fits, of those that came and those that come. Throws Unmet where there is none within `ms`. */
  async next(expected: string, fits: (asked: Asked) => boolean, ms: number): Promise<Asked> {
    const late = performance.now() + ms;
    for (;;) {
      const found = this.seen.find(fits);
      if (found) return found;
      const left = late - performance.now();
      if (left <= 0) throw new Unmet(expected, `nothing of that in ${ms / 1000} s`, this.trace.last());
      if (this.ending) throw new Unmet(expected, `its end`, this.trace.last());
      await new Promise<void>((resolve) => {
        const over = (): void => {
          clearTimeout(timer);
          this.waiting.delete(over);
          resolve();
        };
        const timer = setTimeout(over, left);
        this.waiting.add(over);
      });
    }
  }

  /** The stream is there. */
  async streaming(ms = SYNC_MS): Promise<ServerResponse> {
    await this.next("GET /stream with its Bytebot-Connection", () => this.session?.stream !== undefined, ms);
    return this.session!.stream!;
  }

  /** Breaks its stream: the socket is reset, or ends after `half` of a line. */
  async cut(half = ""): Promise<void> {
    const stream = await this.streaming();
    this.session!.stream = undefined;
    if (half === "") return void stream.socket?.resetAndDestroy();
    stream.write(half);
    // What a reset overtakes would not come at all.
    await pause(PAUSE_MS);
    stream.destroy();
  }

  /** What follows is a request of a connection that nobody knows, as after a restart. */
  forget(): void {
    for (const session of this.sessions) session.end();
  }

  /** It may be this program, which has not come yet. */
  stranger({ method, path }: Asked): void {
    if (this.sessions.length === 0) this.trace.stderr(`(refused with 401, without BYTEBOT_TOKEN: ${method} ${path})`);
  }

  asked(asked: Asked): void {
    this.bytes += asked.body.length;
    // A program that never stops sending is a finding, not a reason to run out of memory.
    if (this.seen.length < MOST_SEEN && this.bytes < MOST_BYTES) this.seen.push(asked);
    else return refuse(asked, 429, "overloaded", "more requests than a check keeps");
    try {
      if (this.play?.(asked) === true) return;
      if (!asked.authorized) return refuse(asked, 401, "unauthorized", "the token is missing");
      this.answer(asked);
    } finally {
      for (const wake of this.waiting) wake();
    }
  }

  /** As a Hub does. */
  answer(asked: Asked): void {
    const { method, path, headers } = asked;
    const id = headers["bytebot-connection"];
    const session = this.sessions.find((one) => one.id === id && !one.over);
    const counts = [headers["bytebot-received"], headers["bytebot-batch"]];
    if (counts.some((count) => count !== undefined && !COUNT.test(String(count))))
      return refuse(asked, 400, "invalid_params", "Bytebot-Received and Bytebot-Batch are whole numbers");
    if (path === "/inbox" && method === "POST" && id === undefined) return this.begin(asked);
    if (path !== "/stream" && path !== "/inbox")
      return refuse(asked, 404, "not_found", "there is nothing at this path");
    if (!session) return refuse(asked, 404, "not_found", "no such connection: begin a new one with bb_sync");
    if (path === "/inbox") return this.inbox(asked, session);
    if (method === "GET") return session.open(asked, this.sse);
    session.end();
    answer(asked, 200, "");
    if (!this.session) void this.close("it ended the connection");
  }

  close(reason: string): Promise<void> {
    this.ending ??= this.finish(reason);
    return this.ending;
  }

  private begin(asked: Asked): void {
    const again = this.sessions.length > 0;
    const [first = "", ...more] = linesOf(asked);
    const bytes = Buffer.from(first, "latin1");
    // That it connects again, after its connection was ended, is no part of what is looked at.
    const received = (again ? new Trace() : this.trace).hearLine(bytes, false);
    const { event } = received;
    if (event?.event_type !== "bb_sync") {
      this.ear.heard(received);
      return refuse(asked, 400, "not_synced", "bb_sync is the first event of a connection: post it alone");
    }
    this.forget();
    const session = new Session();
    this.sessions.push(session);
    if (again) {
      // It connects again: no check has to say anything to that.
      return answer(asked, 200, encode(acknowledge(event as never)), { "bytebot-connection": session.id });
    }
    this.syncing = asked;
    this.ear.heard(received);
    // They should have waited; what is in them is heard all the same.
    for (const line of more) this.take(Buffer.from(line, "latin1"));
  }

  private inbox(asked: Asked, session: Session): void {
    const batch = asked.headers["bytebot-batch"];
    const number = batch === undefined ? undefined : Number(batch);
    if (number !== undefined && session.batch && number <= session.batch.number) {
      if (number === session.batch.number) return answer(asked, 200, session.batch.answers);
      return refuse(asked, 409, "conflict", `request ${number} came after request ${session.batch.number}`);
    }
    const answers = linesOf(asked)
      .map((line) => this.take(Buffer.from(line, "latin1")))
      .join("");
    if (number !== undefined) session.batch = { number, answers };
    answer(asked, 200, answers);
  }

  /** Hears one line, and says what it is answered with. */
  private take(line: Uint8Array): string {
    const received: Received = this.trace.hearLine(line, false);
    const { event, fault } = received;
    const name = event && nameOf(event);
    this.current = { name, line: undefined };
    this.ear.heard(received);
    const said = this.current.line;
    this.current = undefined;
    if (fault) return encode({ event_type: "bb_error", ...fault.toWire() });
    return said ?? encode({ event_type: "bb_ack", ...(name === undefined ? {} : { in_reply_to: name }) });
  }

  private async write(pieces: readonly Uint8Array[]): Promise<void> {
    this.trace.sentBytes(Buffer.concat(pieces));
    const stream = await this.streaming();
    for (const [index, piece] of pieces.entries()) {
      if (index > 0) await pause(PAUSE_MS);
      stream.write(piece);
    }
    this.session?.wrote(Buffer.concat(pieces).toString());
  }

  private async finish(reason: string): Promise<void> {
    clearInterval(this.heartbeat);
    if (this.syncing) refuse(this.syncing, 504, "timeout", "nobody answered its bb_sync");
    this.forget();
    for (const wake of this.waiting) wake();
    await this.program?.end();
    this.listening.remove(this);
    this.ear.closed(reason);
  }
}

/** Its lines that are not blank; a character is a byte. */
export function linesOf({ body }: Asked): string[] {
  return body.split("\n").filter((line) => line.trim() !== "");
}
