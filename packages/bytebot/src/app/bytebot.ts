import { randomUUID } from "node:crypto";
import { Hub, type BlobStream, type Controller, type PutOptions } from "../hub/index.ts";
import { MemoryLog, openSqliteLog } from "../log/index.ts";
import type { HttpServer, SocketServer } from "../transport/index.ts";
import {
  BytebotError,
  toReport,
  type Ack,
  type BlobBlock,
  type Block,
  type ComponentInfo,
  type Event,
  type PolicyRule,
  type Token,
  type TokenGrant,
  type TokenInfo,
  type TokenResult,
  type ToolCallResult,
  type WireError,
} from "../wire/index.ts";
import { Attachments, type Attached } from "./attachments.ts";
import { normalize, type AttachOptions, type Component } from "./component.ts";
import { listenLocally } from "./local.ts";
import { carry } from "./carry.ts";
import type {
  ByteBotOptions,
  ConversationsOptions,
  ConversationsPage,
  DurableOptions,
  SendOptions,
} from "./options.ts";
import { Owner } from "./owner.ts";
import { Credentials, type Grant } from "./credentials.ts";
import { DialIns } from "./dialins.ts";
import { serve, type ServeOptions } from "./serve.ts";
import { Mint } from "./mint.ts";
import { tokensBeside } from "./token-file.ts";
import type { MintedToken } from "./tokens.ts";
import { watch, type EventsOptions } from "./watch.ts";
import { version } from "./version.ts";

export type {
  ByteBotOptions,
  ConversationsOptions,
  ConversationsPage,
  DurableOptions,
  SendOptions,
} from "./options.ts";

/** An app: a Hub and its satellites. */
export class ByteBot {
  /** The ui of the options, where they have one. */
  readonly ui: Attached | undefined;
  private readonly options: ByteBotOptions;
  private readonly hub: Hub;
  private readonly attachments: Attachments;
  private readonly closed = new AbortController();
  private sockets: SocketServer[] = [];
  private servers: HttpServer[] = [];
  private readonly credentials = new Credentials();
  private readonly dialIns: DialIns;
  /** The components that joined over a local socket. */
  private readonly local = new Set<string>();
  private readonly mint: Mint;
  private owner: Owner | undefined;
  private stopped: Promise<void> | undefined;
  private readonly newId = (name: string): string => this.attachments.newId(name);

  constructor(options: ByteBotOptions = {}) {
    this.options = options;
    this.hub = new Hub({
      name: options.name ?? "bytebot",
      version,
      log: options.log ?? new MemoryLog(),
      ...(options.blobs ? { blobs: options.blobs } : {}),
      retention: options.retention ?? {},
      recovery: options.recovery ?? "resume",
      policy: options.policy ?? [],
      input: options.input ?? [],
      contextFallback: options.contextFallback ?? false,
      limits: options.limits ?? {},
      quotas: options.quotas ?? {},
      budgets: options.budgets ?? {},
      prices: options.prices ?? {},
      report: (line) => this.report(line),
      control: (event, asker) => this.control(event, asker),
    });
    const common = { hub: this.hub, report: (line: string) => this.report(line) };
    const base = options.base ?? process.cwd();
    this.attachments = new Attachments({ ...common, base, isTaken: (id) => this.isTaken(id) });
    this.dialIns = new DialIns({ ...common, newId: this.newId, signal: this.closed.signal });
    this.mint = new Mint({
      tokens: this.credentials.tokens,
      path: options.tokens,
      credentialOf: (connection) => this.dialIns.credentialOf(connection),
      end: (credential, reason) => this.dialIns.end(credential, reason),
      report: common.report,
    });
    const { context, ui } = options;
    if (context !== undefined) this.attach(normalize(context, "context"), { primary: true, controller: true });
    this.ui = ui === undefined ? undefined : this.attach(normalize(ui, "ui"), { primary: true });
  }

  /**
   * An app whose log and blobs are in one SQLite file, made where there is none: what was acknowledged is there again when
   * it is opened anew, and turns that were cut off go on. Rejects with `conflict` where another process has the file, and
   * as `openSqliteLog` does; `stop` gives it free.
   */
  static async open({ file, synchronous, ...options }: DurableOptions): Promise<ByteBot> {
    const kept = await openSqliteLog({ file, ...(synchronous ? { synchronous } : {}) });
    return new ByteBot({ ...options, ...kept, tokens: tokensBeside(file) });
  }

  /** Attaches a component: at `start()`, or at once where the app runs. */
  attach(component: Component, options: AttachOptions = {}): Attached {
    return this.attachments.add(component, options);
  }

  /** Attaches an infer; one may be primary, the others are named by the context. */
  attachInfer(component: Component, options: AttachOptions = {}): Attached {
    if (options.primary === true) this.attachments.hasPrimaryInfer = true;
    return this.attachments.add(normalize(component, "infer"), options);
  }

  /** Connects everything attached so far. Rejects with the first failure, after stopping what had started. */
  async start(): Promise<void> {
    if (this.owner) throw new BytebotError("conflict", "start() was already called");
    try {
      // First what was under way: whoever connects is shown it; and it goes on when all are there.
      await this.hub.restore();
      await this.mint.open();
      this.owner = await Owner.connect(this.hub);
      await this.attachments.start();
      this.hub.goOn();
    } catch (error) {
      await this.stop("it could not start");
      throw error;
    }
  }

  detach(componentId: string): Promise<void> {
    return this.attachments.detach(componentId);
  }

  async components(): Promise<ComponentInfo[]> {
    const answer = await this.request({ event_type: "bb_components" });
    return (answer["components"] as ComponentInfo[]).filter(({ component_id }) => component_id !== "app");
  }

  /** Everything that happens in a scope and below it from now on; "*": everywhere. */
  events(scope = "*", options: EventsOptions = {}): AsyncIterableIterator<Event> {
    return watch(this.hub, scope, this.closed.signal, options);
  }

  /** Sends as a person would; resolves when it is durable, with what became of it. The same `id` again sends nothing twice. */
  async send(scope: string, content: string | Block[], options: SendOptions = {}): Promise<Ack> {
    const { id, mode, principal, signal } = options;
    const said = typeof content === "string" ? { text: content } : { content };
    const event = { event_type: "user_event", type: "message", scope, ...said };
    const more = {
      ...(id === undefined ? {} : { id }),
      ...(mode === undefined ? {} : { mode }),
      ...(principal === undefined ? {} : { principal }),
    };
    return (await this.request({ ...event, ...more }, signal)) as Ack;
  }

  /** Stops what runs in the scope and below. */
  async interrupt(
    scope: string,
    reason = "the app interrupted",
    options: Pick<SendOptions, "id" | "principal"> = {},
  ): Promise<Ack> {
    return (await this.request({ event_type: "interrupt", scope, reason, ...options })) as Ack;
  }

  /** The conversations of a scope, or all, the newest activity first; `before`: the `cursor` of the last one of the page before. */
  async conversations(options: ConversationsOptions = {}): Promise<ConversationsPage> {
    const { conversations, more, success, error } = await this.request({ event_type: "bb_conversations", ...options });
    if (success !== true) throw BytebotError.fromWire(error as WireError);
    return { conversations, more } as ConversationsPage;
  }

  /** Gives a conversation another title. Rejects with `not_found` where nothing was said in it. */
  async rename(scope: string, title: string): Promise<void> {
    await this.request({ event_type: "bb_rename", scope, title });
  }

  /** Begins `to` with all that was said in `scope` up to the end of a turn: `at` is the `seq` of its `loop_done`. */
  async fork(scope: string, at: number, to: string): Promise<void> {
    await this.request({ event_type: "bb_fork", scope, at, to });
  }

  /** Deletes a conversation and what is below it in its cell: nothing of it is left. Rejects with `conflict` while something goes on. */
  async delete(scope: string): Promise<void> {
    await this.request({ event_type: "bb_delete", scope });
  }

  /** Goes on with turns of this scope and below that wait since the start (`recovery: "wait"`); "*" is all. */
  resume(scope: string): void {
    this.running();
    this.hub.resume(scope, "resume");
  }

  /** Replaces the tool policy: the last rule that matches decides. */
  async setPolicy(rules: PolicyRule[]): Promise<void> {
    await this.request({ event_type: "bb_policy", rules });
  }

  /** Has the Hub execute a tool, under the same checks and policy as a model's call. The same `id` again runs nothing twice. */
  async callTool(
    scope: string,
    name: string,
    input: unknown,
    { signal, ...options }: Pick<SendOptions, "id" | "principal" | "signal"> = {},
  ): Promise<ToolCallResult> {
    const call = { event_type: "bb_tool_call_request", scope, name, input, ...options };
    // A tool has its own deadline, and a question to a person its own: the Hub always answers.
    return (await this.request(call, signal, Infinity)) as unknown as ToolCallResult;
  }

  /**
   * Keeps bytes as a blob of the scope; the block it resolves with may stand in `send`. Rejects with `too_large` or
   * `overloaded` where they are too many.
   */
  async putBlob(
    scope: string,
    source: Uint8Array | AsyncIterable<Uint8Array>,
    { name, ...options }: PutOptions & { name?: string } = {},
  ): Promise<BlobBlock> {
    const pieces = source instanceof Uint8Array ? [source] : source;
    const block = await this.hub.blobs.put(this.running().id, scope, undefined, pieces, options);
    return { ...block, ...(name === undefined ? {} : { name }) };
  }

  /** A blob of the scope. Rejects with `not_found`. */
  async getBlob(scope: string, ref: string): Promise<BlobStream> {
    return this.hub.blobs.get(this.running().id, scope, ref);
  }

  /** Asks as the wire does, for a program that owns this app. A tool call takes as long as it takes, as with `callTool`. */
  relay(event: Event, signal: AbortSignal): Promise<Event> {
    return this.request(event, signal, event.event_type === "bb_tool_call_request" ? Infinity : undefined);
  }

  /** Carries blobs for a program that owns this app, as `bb_blob` both ways. */
  carryBlobs(answer: (event: Event) => void, pace: () => Promise<void>): (event: Event) => void {
    return carry(this.running(), answer, pace);
  }

  /** Lets local programs of this user join over a Unix socket: `bytebot tail`, and other screens (`bytebot chat --join`). */
  async listen(path: string): Promise<void> {
    const { hub, local: ids, newId, closed } = this;
    const report = (line: string): void => this.report(line);
    this.sockets.push(await listenLocally(path, { hub, ids, newId, signal: closed.signal, report }));
  }

  /**
   * Serves the wire over HTTP: to satellites that dial in with a token (`addToken`), to browsers with a code (`addCode`).
   * Resolves with the URL it listens at. Throws BytebotError `conflict` where the port is taken.
   */
  async serveHttp(options: ServeOptions = {}): Promise<string> {
    if (this.stopped) throw new BytebotError("unavailable", "the app has stopped");
    const server = await serve(options, this.credentials, this.dialIns, this.hub.blobs, (line) => this.report(line));
    this.servers.push(server);
    return server.url;
  }

  /**
   * Lets one component dial in, under this grant, with the token that is returned (256 random bits, or the app's own): its
   * id is the grant's name, and its newest connection is the one that counts. `name: ""`: any number of components, each
   * named by its own `bb_sync`.
   */
  addToken(grant: Grant, token?: string): string {
    return this.credentials.tokens.add(grant, grant.name === "", token);
  }

  /** Takes a token back, and ends what had dialled in with it, or with a token that it has made. */
  async removeToken(token: string): Promise<void> {
    await this.mint.takeBack(this.credentials.tokens.remove(token), "its token was taken back");
  }

  /**
   * Makes a token that is kept where the app's log is, until it is revoked or, in milliseconds, over. `addToken` is for those
   * that the app's code gives out at each start.
   */
  async mintToken(grant: TokenGrant, options: { expiresMs?: number } = {}): Promise<MintedToken> {
    const { expiresMs } = options;
    const expires = expiresMs === undefined ? {} : { expires_ms: expiresMs };
    const answer = await this.askToken({ action: "mint", grant, ...expires });
    const { token = "", token_id = "", expires_at } = answer;
    return { token, tokenId: token_id, ...(expires_at === undefined ? {} : { expiresAt: expires_at }) };
  }

  /** The tokens that were made and are still good. */
  async tokens(): Promise<TokenInfo[]> {
    return (await this.askToken({ action: "list" })).tokens ?? [];
  }

  /** Takes back a token that was made, and all that was made with it; what came in with them ends. Rejects with `not_found`. */
  async revokeToken(tokenId: string): Promise<void> {
    await this.askToken({ action: "revoke", token_id: tokenId });
  }

  /** Lets one browser in, under this grant: it posts the code to `/browser/session`, once, within a minute. */
  addCode(grant: Grant): string {
    return this.credentials.addCode(grant);
  }

  /** Takes a code back and, where it was used, the browser's session: what had come in with it ends at once. */
  async removeCode(code: string): Promise<void> {
    const credential = this.credentials.removeCode(code);
    if (credential) await this.dialIns.end(credential, "its session was taken back");
  }

  /** Ends every component and the log; nothing is left running. */
  stop(reason = "the app stops"): Promise<void> {
    this.stopped ??= this.close(reason);
    return this.stopped;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** Is it the id of a component that was not attached? */
  private isTaken(id: string): boolean {
    return this.dialIns.has(id) || this.local.has(id);
  }

  private async askToken(fields: Omit<Token, "event_type" | "id">): Promise<TokenResult> {
    const answer = (await this.request({ event_type: "bb_token", ...fields })) as TokenResult;
    if (!answer.success) throw BytebotError.fromWire(answer.error as WireError);
    return answer;
  }

  private async request(event: Event, signal?: AbortSignal, timeoutMs?: number): Promise<Event> {
    const id = typeof event["id"] === "string" ? event["id"] : `a_${randomUUID()}`;
    return this.running().request({ ...event, id }, signal, timeoutMs);
  }

  /** The app's own connection. Throws `unavailable` before the start and after the end. */
  private running(): Owner {
    if (this.owner && !this.stopped) return this.owner;
    const why = this.stopped ? "the app has stopped" : "the app has not started: await hub.start() first";
    throw new BytebotError("unavailable", why);
  }

  /** What a satellite with the owner's events may ask of the app itself. */
  private async control(event: Event, asker: Controller): Promise<Event> {
    if (event.event_type === "bb_token") return this.mint.answer(event as Token, asker);
    if (event.event_type === "bb_detach") {
      await this.detach(String(event["component_id"]));
      return { event_type: "bb_detach_result", success: true };
    }
    const { ref, opts, primary } = event as { ref?: string; opts?: Record<string, unknown>; primary?: boolean };
    const agreed = await this.options.mayAttach?.(String(ref));
    if (agreed !== true) {
      throw new BytebotError(
        "forbidden",
        `attaching ${String(ref)} runs its code here, and this app did not agree: see its mayAttach option`,
      );
    }
    const attached = this.attachments.add({ ref: String(ref), opts }, { primary }, true);
    return { event_type: "bb_attach_result", success: true, component_id: await attached.ready };
  }

  private async close(reason: string): Promise<void> {
    this.closed.abort();
    this.mint.close();
    await this.attachments.stop(reason);
    await this.hub.close();
    // Who has joined or dialled in has heard the Hub's last words by now.
    await Promise.all([...this.sockets, ...this.servers].map((server) => server.close()));
  }

  private report(line: string): void {
    const told = toReport(line);
    if (this.options.report) this.options.report(told);
    else process.stderr.write(`${told}\n`);
  }
}
