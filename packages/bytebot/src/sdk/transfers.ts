import { createHash } from "node:crypto";
import { setImmediate as turnOfTheLoop } from "node:timers/promises";
import { BytebotError, PART_BYTES } from "../wire/index.ts";
import type { Blob, BlobBlock, Event, WireError } from "../wire/index.ts";
import { newId } from "./outgoing.ts";
import { cancelled } from "./requests.ts";

/** Bytes, all at once or as they come. */
export type BlobSource = Uint8Array | AsyncIterable<Uint8Array>;

export interface PutBlobOptions {
  /** Default: application/octet-stream. */
  mimeType?: string | undefined;
  /** For people: a file's name. */
  name?: string | undefined;
  /** Of a source that comes in pieces, in bytes, where it is known: what is too large is then refused at once. */
  size?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** A blob on its way; `size` in bytes. `bytes` is read once, and fails where the connection ends or the bytes are wrong. */
export interface BlobReading {
  mimeType: string;
  size: number;
  bytes: AsyncGenerator<Uint8Array>;
}

/** What carries the parts. */
export interface BlobSink {
  readonly limits: { line_bytes: number; blob_bytes?: number | undefined };
  post(event: Event): void;
  drained(): Promise<void>;
}

/** At once, the rest in turn: fewer than a Hub allows. */
const MAX_OPEN = 4;
/** Silence of the Hub, in milliseconds. */
const IDLE_MS = 30_000;
/** What a part holds beside its data, in bytes. */
const ENVELOPE = 2048;

const GIVEN_UP = { code: "cancelled", message: "this blob is not wanted any more", retryable: false };

/** Who ended a transfer: the Hub with its last word, or this side before it. */
type Why = "answered" | "given up";

interface Open {
  event(event: Event): void;
  fail(error: BytebotError, why?: Why): void;
}

/** Blobs on their way over one connection, in parts as `bb_blob` (rules BLB-2 and BLB-5). */
export class Transfers {
  private readonly sink: BlobSink;
  private readonly open = new Map<string, Open>();
  private running = 0;
  private waiting: (() => void)[] = [];
  private gone: BytebotError | undefined;

  constructor(sink: BlobSink) {
    this.sink = sink;
  }

  /** Is this about one of them? */
  settle(event: Event): boolean {
    const open = typeof event["in_reply_to"] === "string" ? this.open.get(event["in_reply_to"]) : undefined;
    if (!open) return false;
    if (event.event_type === "bb_error") open.fail(BytebotError.fromWire(event as unknown as WireError), "answered");
    else if (event.event_type === "bb_blob") open.event(event);
    return true;
  }

  close(error: BytebotError): void {
    this.gone = error;
    for (const open of this.open.values()) open.fail(error);
    for (const resolve of this.waiting.splice(0)) resolve();
  }

  /** Resolves when the Hub has it. Rejects with the Hub's error, `too_large` before anything is sent, `cancelled`, `timeout`. */
  async put(scope: string, source: BlobSource, options: PutBlobOptions = {}): Promise<BlobBlock> {
    const { name, signal } = options;
    const whole = source instanceof Uint8Array;
    const size = whole ? source.length : options.size;
    this.mustFit(size ?? 0);
    return this.inTurn(signal, async () => {
      const id = newId("b");
      const kept = this.wait(id, signal);
      const about = {
        mime_type: options.mimeType ?? "application/octet-stream",
        ...(size === undefined ? {} : { size }),
      };
      try {
        await Promise.race([this.upload({ id, scope }, about, whole ? once(source) : source, kept), kept.failed]);
        const { ref, size: bytes, mime_type } = (await kept.next()) as unknown as BlobBlock;
        return { type: "blob", ref, mime_type, size: bytes, ...(name === undefined ? {} : { name }) };
      } finally {
        kept.end();
      }
    });
  }

  /** Rejects with `not_found`, `cancelled`, `timeout`; `bytes` with the same, and `internal` where they are not the ref's. */
  async read(scope: string, ref: string, signal?: AbortSignal): Promise<BlobReading> {
    const coming = Promise.withResolvers<Waiting>();
    const done = Promise.withResolvers<void>();
    // Its turn lasts until the last part is there, whether or not it was read.
    const turn = this.inTurn(signal, async () => {
      const id = newId("b");
      const waiting = this.wait(id, signal, done.resolve);
      this.sink.post({ event_type: "bb_blob", id, scope, ref });
      coming.resolve(waiting);
      await done.promise;
    });
    turn.catch((error: unknown) => coming.reject(error));
    const waiting = await coming.promise;
    try {
      const first = (await waiting.next()) as Blob & Event;
      return {
        mimeType: first.mime_type ?? "application/octet-stream",
        size: first.size ?? 0,
        bytes: parts(first, waiting, ref),
      };
    } catch (error) {
      waiting.end();
      throw error;
    }
  }

  private async upload(
    to: { id: string; scope: string },
    about: object,
    source: AsyncIterable<Uint8Array>,
    kept: Waiting,
  ): Promise<void> {
    const most = Math.min(PART_BYTES, Math.floor(((this.sink.limits.line_bytes - ENVELOPE) / 4) * 3));
    let part = 0;
    const send = async (bytes: Uint8Array, last: boolean): Promise<void> => {
      const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("base64");
      this.sink.post({ event_type: "bb_blob", ...to, ...(part === 0 ? about : {}), part, last, data });
      part++;
      kept.heard();
      await this.sink.drained();
      await turnOfTheLoop();
    };
    let ready: Uint8Array | undefined;
    for await (const bytes of source) {
      for (let at = 0; at < bytes.length && !kept.over; at += most) {
        if (ready) await send(ready, false);
        ready = bytes.subarray(at, at + most);
      }
      if (kept.over) return;
    }
    await send(ready ?? new Uint8Array(), true);
  }

  private wait(id: string, signal: AbortSignal | undefined, ended: () => void = () => {}): Waiting {
    const waiting = new Waiting(signal, (why) => {
      this.open.delete(id);
      ended();
      // The Hub need not wait for the rest, or send it.
      if (why === "given up" && !this.gone) this.sink.post({ event_type: "bb_error", in_reply_to: id, ...GIVEN_UP });
    });
    if (this.gone) waiting.fail(this.gone);
    else this.open.set(id, waiting);
    return waiting;
  }

  private mustFit(size: number): void {
    const limit = this.sink.limits.blob_bytes;
    if (limit === undefined)
      throw new BytebotError("unavailable", "this Hub takes no blobs: keep content below 256 KiB");
    if (size > limit) throw new BytebotError("too_large", `a blob of ${size} bytes or more; the limit is ${limit}`);
  }

  private async inTurn<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    while (this.running >= MAX_OPEN && !signal?.aborted) await this.turn(signal);
    if (signal?.aborted) throw cancelled(signal);
    if (this.gone) throw this.gone;
    this.running++;
    try {
      return await work();
    } finally {
      this.running--;
      this.waiting.shift()?.();
    }
  }

  /** Resolves when another has ended, or with the signal; whoever goes away takes nobody's turn. */
  private turn(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      const next = (): void => {
        signal?.removeEventListener("abort", leave);
        resolve();
      };
      const leave = (): void => {
        this.waiting = this.waiting.filter((other) => other !== next);
        resolve();
      };
      this.waiting.push(next);
      signal?.addEventListener("abort", leave, { once: true });
    });
  }
}

/** What the Hub sends about one transfer, in order; silence, an error and an abort end it. */
class Waiting implements Open {
  /** Rejects when it has failed; nobody need wait for it. */
  readonly failed: Promise<never>;
  over = false;
  private readonly fails = Promise.withResolvers<never>();
  private readonly signal: AbortSignal | undefined;
  private readonly ended: (why: Why) => void;
  private readonly abort: () => void;
  private readonly events: Event[] = [];
  private timer: NodeJS.Timeout;
  private wake: (() => void) | undefined;

  constructor(signal: AbortSignal | undefined, ended: (why: Why) => void) {
    this.failed = this.fails.promise;
    this.failed.catch(() => undefined);
    this.signal = signal;
    this.ended = ended;
    this.abort = () => this.fail(cancelled(signal));
    signal?.addEventListener("abort", this.abort, { once: true });
    this.timer = this.deadline();
  }

  event(event: Event): void {
    if (this.over) return;
    this.events.push(event);
    this.heard();
    if (event["last"] !== false) this.end("answered");
    this.wake?.();
  }

  fail(error: BytebotError, why: Why = "given up"): void {
    if (this.over) return;
    this.end(why);
    this.fails.reject(error);
  }

  /** It goes on: the deadline is put off. */
  heard(): void {
    if (this.over) return;
    clearTimeout(this.timer);
    this.timer = this.deadline();
  }

  /** The next event; what came before an error is still given out. */
  async next(): Promise<Event> {
    if (this.events.length === 0) {
      const came = new Promise<void>((resolve) => (this.wake = resolve));
      await Promise.race([came, this.failed]);
    }
    return this.events.shift()!;
  }

  end(why: Why = "given up"): void {
    if (this.over) return;
    this.over = true;
    clearTimeout(this.timer);
    this.signal?.removeEventListener("abort", this.abort);
    this.ended(why);
  }

  private deadline(): NodeJS.Timeout {
    const late = new BytebotError("timeout", `the Hub was silent about a blob for ${IDLE_MS / 1000} s`, {
      retryable: true,
    });
    return setTimeout(() => this.fail(late), IDLE_MS);
  }
}

async function* parts(first: Event, waiting: Waiting, ref: string): AsyncGenerator<Uint8Array> {
  const hash = createHash("sha256");
  try {
    let event = first;
    for (let part = 0; ; part++) {
      if (event["part"] !== part) throw new BytebotError("internal", `part ${part} of ${ref} did not come in its turn`);
      const bytes = Buffer.from(String(event["data"]), "base64");
      hash.update(bytes);
      yield bytes;
      if (event["last"] === true) break;
      event = await waiting.next();
    }
    const got = `sha256-${hash.digest("hex")}`;
    if (got !== ref) throw new BytebotError("internal", `the bytes that came are ${got}, not ${ref}`);
  } finally {
    waiting.end();
  }
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
