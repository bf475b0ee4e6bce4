import { randomUUID } from "node:crypto";
import { as, BytebotError, type Event, type Kind, type Sync, type ToolRegister } from "../wire/index.ts";
import type { Tested } from "./channel.ts";
import { Inapplicable, Unmet, type Gate } from "./check.ts";
import { acknowledge } from "./manners.ts";
import { Peer } from "./peer.ts";
import { newId, toWork, type Say, type Work } from "./work.ts";

/** The component under test, and what was found out of it. */
export interface Subject {
  reached: Tested;
  kind: Kind;
  /** Overrides every deadline of an answer, in milliseconds. */
  timeoutMs: number | undefined;
  /** The call that may be made of a toolsource, where the person named one. */
  call: { name: string; input: unknown } | undefined;
  /** Gates that were not passed, each with its rule. */
  shut: Map<Gate, string>;
  /** Connections over which each kind of exchange went once, ended by now: what it sends is looked at there. */
  tours: Promise<Peer>[];
}

/** What an answer may take, in milliseconds, where the person set no other deadline. */
const defaults = { sync: 10_000, register: 30_000, pong: 10_000, context: 30_000, infer: 60_000, toolsource: 60_000 };

/** What one check plays on: connections of its own, closed when it is over. */
export class Stage {
  readonly subject: Subject;
  readonly signal: AbortSignal;
  private readonly peers = new Set<Peer>();
  private readonly run = randomUUID().slice(0, 8);

  constructor(subject: Subject, signal: AbortSignal) {
    this.subject = subject;
    this.signal = signal;
  }

  get kind(): Kind {
    return this.subject.kind;
  }

  within(what: keyof typeof defaults): number {
    return this.subject.timeoutMs ?? defaults[what];
  }

  /** A new connection; over stdio a new process. */
  async open(): Promise<Peer> {
    const peer = await Peer.open(this.subject.reached, this.signal);
    this.peers.add(peer);
    // Whatever waits for this connection ends with it.
    this.signal.addEventListener("abort", this.stop, { once: true });
    if (this.signal.aborted) this.stop();
    return peer;
  }

  /** A new connection, its handshake done. */
  async attach(): Promise<Peer> {
    const peer = await this.open();
    this.welcome(peer, await this.synced(peer));
    return peer;
  }

  async synced(peer: Peer): Promise<Sync> {
    const sync = await peer.wait("bb_sync", ({ event_type }) => event_type === "bb_sync", this.within("sync"));
    try {
      return as("bb_sync", sync);
    } catch (error) {
      throw new Unmet("a valid bb_sync", BytebotError.from(error).message, peer.trace.last());
    }
  }

  /** What a Hub sends a component that it takes in. */
  welcome(peer: Peer, sync: Sync): void {
    peer.polite = true;
    peer.send(acknowledge(sync));
    if (this.kind === "ui" || this.kind === "telemetry") peer.send({ event_type: "bb_live", ts: Date.now() });
  }

  /** The tools it registers. */
  async tools(peer: Peer): Promise<ToolRegister["tools"]> {
    const ms = this.within("register");
    const register = await peer.wait("bb_tool_register", ({ event_type }) => event_type === "bb_tool_register", ms);
    try {
      return as("bb_tool_register", register).tools;
    } catch (error) {
      throw new Unmet("a valid bb_tool_register", BytebotError.from(error).message, peer.trace.last());
    }
  }

  /** A scope it may see; another `name`, another scope. */
  scope(peer: Peer, name = "c_1"): string {
    const scopes = peer.sync?.["scopes"];
    const first: unknown = Array.isArray(scopes) ? scopes[0] : undefined;
    return typeof first === "string" && first !== "*" ? `${first}/${name}` : `u_${this.run}${name}/${name}`;
  }

  /** Of the requests that its kind has to answer, one; for a toolsource the call that may be made, else one of a tool it does not have. */
  async work(peer: Peer, say: Say = {}): Promise<Work> {
    const tools = this.kind === "toolsource" ? await this.tools(peer) : [];
    const scope = say.scope ?? this.scope(peer);
    const { api_shape: shape } = (peer.sync?.["capabilities"] ?? {}) as { api_shape?: unknown };
    return toWork(this.kind, { ...say, scope, shape }, { tools, call: this.subject.call, ms: this.workMs() });
  }

  async answer(peer: Peer, { expected, answers }: Work, ms = this.workMs()): Promise<Event> {
    return peer.wait(expected, answers, ms);
  }

  /** The cheapest event that it has to answer: a ping where it answers pings, else a request of its kind. */
  async question(peer: Peer): Promise<Work> {
    if (this.subject.shut.has("pong")) {
      const silent = this.kind === "ui" || this.kind === "telemetry";
      if (silent) throw new Inapplicable("it answers no ping (CON-6), so what it took cannot be seen");
      return this.work(peer);
    }
    const id = newId("p");
    return {
      key: id,
      event: { event_type: "bb_ping", id, ts: Date.now() },
      expected: `bb_pong with "in_reply_to":"${id}"`,
      answers: ({ event_type, in_reply_to }) => event_type === "bb_pong" && in_reply_to === id,
    };
  }

  /** It lives, and has read all that was sent so far. */
  async alive(peer: Peer): Promise<void> {
    if (peer.left) return;
    const question = await this.question(peer);
    peer.send(question.event);
    try {
      await this.answer(peer, question, this.questionMs());
    } catch (error) {
      // It has said goodbye meanwhile: that is an orderly end.
      if (!peer.left) throw error;
    }
  }

  questionMs(): number {
    return this.subject.shut.has("pong") ? this.workMs() : this.within("pong");
  }

  async close(): Promise<void> {
    this.signal.removeEventListener("abort", this.stop);
    await Promise.all([...this.peers].map((peer) => peer.close()));
  }

  private readonly stop = (): void => void this.close();

  private workMs(): number {
    const { kind } = this;
    return kind === "ui" || kind === "telemetry" ? this.within("pong") : this.within(kind);
  }
}
