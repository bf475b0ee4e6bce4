import assert from "node:assert/strict";
import { setImmediate as turnOfTheLoop } from "node:timers/promises";
import {
  Hub,
  offer,
  type Budget,
  type Clock,
  type CoreLimits,
  type HubOptions,
  type InputRule,
  type Offer,
  type Price,
  type Quotas,
} from "../../src/hub/index.ts";
import { MemoryBlobs, MemoryLog, withLargeEvents, type BlobStore, type Entry } from "../../src/log/index.ts";
import { inprocPair, type Link } from "../../src/transport/index.ts";
import {
  decode,
  encode,
  wide,
  type BytebotError,
  type Event,
  type Kind,
  type PolicyRule,
} from "../../src/wire/index.ts";
import { checkLog } from "./invariants.ts";
import { checkStrict } from "./strict.ts";

/** A clock that moves when the test says so. */
class ManualClock implements Clock {
  private time = 1_700_000_000_000;
  private calls: { at: number; call: () => void }[] = [];

  now(): number {
    return this.time;
  }

  after(ms: number, call: () => void): () => void {
    const entry = { at: this.time + ms, call };
    this.calls.push(entry);
    return () => void (this.calls = this.calls.filter((other) => other !== entry));
  }

  /** The next deadline within `until`, taken. */
  take(until: number): (() => void) | undefined {
    this.calls.sort((a, b) => a.at - b.at);
    const next = this.calls[0];
    if (!next || next.at > until) return undefined;
    this.calls.shift();
    this.time = Math.max(this.time, next.at);
    return next.call;
  }

  set(time: number): void {
    this.time = time;
  }

  get waiting(): number {
    return this.calls.length;
  }
}

/** A satellite by hand: it says exactly the events that a test says. */
export class Peer {
  readonly got: Event[] = [];
  closed: string | undefined;
  /** What it does of itself when it gets something. */
  react: (event: Event) => void = () => undefined;
  link!: Link;
  private readonly world: World;

  constructor(world: World) {
    this.world = world;
  }

  async send(...events: Event[]): Promise<this> {
    for (const event of events) this.link.send(event);
    await this.world.settle();
    return this;
  }

  /** Everything of this type so far. */
  all(type: string): Event[] {
    return this.got.filter((event) => event.event_type === type);
  }

  /** The newest of this type; fails where there is none. */
  last(type: string): Event {
    const found = this.all(type).at(-1);
    assert.ok(found, `got a ${type}; got ${this.got.map((event) => event.event_type).join(", ")}`);
    return found;
  }

  /** Until it has so many of this type: for what another thread decides, in its own time. */
  async gets(type: string, count = 1): Promise<Event> {
    const deadline = AbortSignal.timeout(15_000);
    while (this.all(type).length < count) {
      deadline.throwIfAborted();
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    return this.all(type)[count - 1]!;
  }

  /** The text that its deltas and joined blocks add up to, the newest attempt of each round. */
  text(): string {
    return this.all("infer_chunk")
      .filter(({ kind, block_type }) => kind === "block_delta" && block_type === "text")
      .map(({ delta }) => String(delta))
      .join("");
  }
}

export interface WorldOptions {
  limits?: Partial<CoreLimits>;
  quotas?: Partial<Quotas>;
  budgets?: Record<string, Budget>;
  prices?: Record<string, Price>;
  policy?: PolicyRule[];
  input?: InputRule[];
  contextFallback?: boolean;
  blobs?: BlobStore;
  /** Default: everything is kept, so that the whole log can be checked. */
  retention?: NonNullable<HubOptions["retention"]>;
  control?: NonNullable<HubOptions["control"]>;
  recovery?: NonNullable<HubOptions["recovery"]>;
  /** One that another world had: this one begins where that was cut off. */
  log?: MemoryLog;
}

/** The line that the Hub has ready for a link is that of the event: a link that writes lines takes it as it is. */
function linesChecked(link: Link): Link {
  const send = link.send.bind(link);
  link.send = (event, line) => {
    if (line) assert.deepEqual(decode(line().trimEnd(), wide), decode(encode(event).trimEnd(), wide));
    send(event, line);
  };
  return link;
}

let lives = 0;

/** A real Hub over a real log, with satellites by hand and a clock by hand. */
export class World {
  readonly clock = new ManualClock();
  readonly log: MemoryLog;
  readonly blobs = new MemoryBlobs();
  readonly seen: Event[] = [];
  readonly reports: string[] = [];
  readonly hub: Hub;
  private ids = 0;
  private readonly graceMs: number;
  private readonly watching: { stop(): void };
  /** What a strict provider would have refused (rule CNV-6). */
  private readonly refusals: unknown[] = [];

  constructor(options: WorldOptions = {}) {
    // Ids are not counted anew where there is a log of them.
    if (options.log) this.ids = 100_000 * ++lives;
    this.graceMs = options.limits?.graceMs ?? 1000;
    this.log = options.log ?? new MemoryLog();
    this.hub = new Hub({
      name: "world",
      version: "0",
      blobs: this.blobs,
      clock: this.clock,
      newId: (prefix) => `${prefix}_${++this.ids}`,
      report: (line) => this.reports.push(line),
      retention: { events: Infinity, bytes: Infinity },
      ...options,
      log: this.log,
    });
    this.watching = this.hub.watch((event) => this.seen.push(event));
  }

  /** From here on `seen` stays as it is. */
  stopWatching(): void {
    this.watching.stop();
  }

  /** A peer that is connected and has said nothing. */
  async connect(fields: Partial<Offer> & { name: string }): Promise<Peer> {
    const peer = new Peer(this);
    const receiver = {
      event: (event: Event) => {
        if (event.event_type === "bb_infer_request" && event["observed"] !== true) this.checkRequest(event);
        peer.got.push(event);
        peer.react(event);
      },
      fault: (error: BytebotError) => this.reports.push(`peer: ${error.message}`),
      closed: (reason: string) => void (peer.closed = reason),
    };
    const from = offer({ componentId: fields.name, ...fields });
    await this.hub.connect(
      from,
      async (hub) => {
        const pair = inprocPair(fields.name, hub, receiver);
        peer.link = pair.satellite;
        return linesChecked(pair.hub);
      },
      new AbortController().signal,
    );
    return peer;
  }

  /** A peer that has synced as this kind. */
  async join(kind: Kind, fields: Partial<Offer> = {}, sync: Record<string, unknown> = {}): Promise<Peer> {
    const peer = await this.connect({ name: kind, ...fields });
    await peer.send({ event_type: "bb_sync", kind, ...sync });
    return peer;
  }

  /** Until nothing moves any more at this time. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 4 || this.hub.counts()["resting"]! > 0; turn++) await turnOfTheLoop();
  }

  /** Lets time pass, deadline by deadline. */
  async pass(ms: number): Promise<void> {
    const until = this.clock.now() + ms;
    for (let call = this.clock.take(until); call; call = this.clock.take(until)) {
      call();
      await this.settle();
    }
    this.clock.set(until);
    await this.settle();
  }

  async entries(): Promise<(Entry & { cell: string })[]> {
    const done = new AbortController();
    const entries: (Entry & { cell: string })[] = [];
    const reading = (async () => {
      for await (const entry of withLargeEvents(this.log).tail([], done.signal)) entries.push(entry);
    })();
    await this.settle();
    done.abort();
    await reading;
    return entries;
  }

  private checkRequest(request: Event): void {
    try {
      checkStrict(request);
    } catch (error) {
      this.refusals.push(error);
    }
  }

  /** Ends the world; the log has to be a legal one, with everything that began ended unless the test says otherwise. */
  async end({ finished = true } = {}): Promise<void> {
    const entries = await this.entries();
    checkLog(entries, { finished, graceMs: this.graceMs });
    if (this.refusals.length > 0) throw this.refusals[0];
    assert.deepEqual(
      this.reports.filter((line) => /^(fault|peer)/.test(line)),
      [],
    );
    if (finished) {
      assert.equal(this.clock.waiting, 0, "nothing that ended left a timer");
      const { active, pending, questions, checks, pages } = this.hub.counts();
      assert.deepEqual({ active, pending, questions, checks, pages }, NOTHING, "nothing waits for what has ended");
    }
    await this.hub.close();
    assert.equal(this.clock.waiting, 0, "no timer is left");
  }
}

const NOTHING = { active: 0, pending: 0, questions: 0, checks: 0, pages: 0 };

export const message = (text: string, scope = "u", more: Record<string, unknown> = {}): Event => ({
  event_type: "user_event",
  type: "message",
  scope,
  text,
  ...more,
});

export const textChunks = (request: Event, text: string, index = 0): Event[] => [
  { event_type: "infer_chunk", kind: "block_start", index, block_type: "text", in_reply_to: request["id"] },
  {
    event_type: "infer_chunk",
    kind: "block_delta",
    index,
    block_type: "text",
    delta: text,
    in_reply_to: request["id"],
  },
  { event_type: "infer_chunk", kind: "block_stop", index, in_reply_to: request["id"] },
];

export const toolChunks = (request: Event, name: string, input: unknown, index = 0): Event[] => [
  { event_type: "infer_chunk", kind: "block_start", index, block_type: "tool_use", name, in_reply_to: request["id"] },
  {
    event_type: "infer_chunk",
    kind: "block_delta",
    index,
    block_type: "tool_use",
    delta: JSON.stringify(input),
    in_reply_to: request["id"],
  },
  { event_type: "infer_chunk", kind: "block_stop", index, in_reply_to: request["id"] },
];

export const inferResult = (request: Event, stop_reason = "end_turn"): Event => ({
  event_type: "bb_infer_result",
  in_reply_to: request["id"],
  success: true,
  stop_reason,
});

export const inferFailure = (request: Event, error: Record<string, unknown>): Event => ({
  event_type: "bb_infer_result",
  in_reply_to: request["id"],
  success: false,
  error: { message: "it failed", retryable: false, ...error },
});

export const register = (...names: string[]): Event => ({
  event_type: "bb_tool_register",
  id: `reg_${names.join("_")}`,
  tools: names.map((name) => ({
    name,
    description: name,
    input_schema: { type: "object", properties: { path: { type: "string" } } },
  })),
});

export const toolResult = (request: Event, text: string): Event => ({
  event_type: "bb_tool_call_result",
  call_id: request["call_id"],
  success: true,
  content: [{ type: "text", text }],
});
