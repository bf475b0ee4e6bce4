import { randomUUID } from "node:crypto";
import { Hub, offer, type BlobStream, type HubOptions, type PutOptions } from "../hub/index.ts";
import { MemoryLog, openSqliteLog, type BlobStore, type EventLog } from "../log/index.ts";
import { listenSocket, type HttpServer, type SocketServer } from "../transport/index.ts";
import {
  BytebotError,
  toReport,
  type Ack,
  type BlobBlock,
  type Block,
  type ComponentInfo,
  type Event,
  type PolicyRule,
  type ToolCallResult,
} from "../wire/index.ts";
import { Attachments, type Attached } from "./attachments.ts";
import { normalize, type AttachOptions, type Component } from "./component.ts";
import { carry } from "./carry.ts";
import { Owner } from "./owner.ts";
import { Credentials, type Grant } from "./credentials.ts";
import { DialIns } from "./dialins.ts";
import { serve, type ServeOptions } from "./serve.ts";
import { watch, type EventsOptions } from "./watch.ts";
import { version } from "./version.ts";

export interface ByteBotOptions {
  ui?: Component;
  context?: Component;
  /** The folder that relative references start from; default: the working folder. */
  base?: string;
  name?: string;
  /** Default: in memory; `ByteBot.open` keeps it in a file. */
  log?: EventLog;
  /** Content by reference. Default: in memory. */
  blobs?: BlobStore;
  /**
   * How much each conversation's log keeps, in events and bytes; default: 5,000 and 8 MiB of the newest, at least.
   * `scopes`: otherwise for these and what is below them.
   */
  retention?: HubOptions["retention"];
  /** What becomes of turns that were cut off when the app ended: they go on (default), end, or wait for `resume`. */
  recovery?: HubOptions["recovery"];
  policy?: PolicyRule[];
  /** Where the context is not there, go on with the plain transcript instead of ending the turn. */
  contextFallback?: boolean;
  /** Deadlines in milliseconds and counts; each has a default. */
  limits?: HubOptions["limits"];
  /** What one tenant may have at once; each has a default. */
  quotas?: HubOptions["quotas"];
  /** What tenants may use up from the start on, by patterns such as "u_*"; the last that matches counts, without one: no bound. */
  budgets?: HubOptions["budgets"];
  /** For budgets of cost: prices of a million tokens, by patterns of models. */
  prices?: HubOptions["prices"];
  /** May a satellite with the owner's events attach this reference, which runs its code here? Default: no. */
  mayAttach?: (ref: string) => boolean | Promise<boolean>;
  /** A line for whoever runs the app: what a component printed, noise, a crash. Default: stderr. */
  report?: (line: string) => void;
}

export interface DurableOptions extends Omit<ByteBotOptions, "log" | "blobs"> {
  /** The path of its file, as in "bytebot.db". */
  file: string;
  /** "full" (default): acknowledged means on the disk. "normal": survives a kill of the process, not the loss of power. */
  synchronous?: "full" | "normal";
}

export interface SendOptions {
  id?: string;
  mode?: "queue" | "steer" | "replace" | "refuse";
  signal?: AbortSignal;
}

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
  private owner: Owner | undefined;
  private stopped: Promise<void> | undefined;

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
      contextFallback: options.contextFallback ?? false,
      limits: options.limits ?? {},
      quotas: options.quotas ?? {},
      budgets: options.budgets ?? {},
      prices: options.prices ?? {},
      report: (line) => this.report(line),
      control: (event) => this.control(event),
    });
    const common = { hub: this.hub, report: (line: string) => this.report(line) };
    const base = options.base ?? process.cwd();
    this.attachments = new Attachments({ ...common, base, isTaken: (id) => this.dialIns.has(id) });
    const newId = (name: string): string => this.attachments.newId(name);
    this.dialIns = new DialIns({ ...common, newId, signal: this.closed.signal });
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
    return new ByteBot({ ...options, ...kept });
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
    const { id, mode, signal } = options;
    const said = typeof content === "string" ? { text: content } : { content };
    const event = { event_type: "user_event", type: "message", scope, ...said };
    const more = { ...(id === undefined ? {} : { id }), ...(mode === undefined ? {} : { mode }) };
    return (await this.request({ ...event, ...more }, signal)) as Ack;
  }

  /** Stops what runs in the scope and below. */
  async interrupt(scope: string, reason = "the app interrupted"): Promise<Ack> {
    return (await this.request({ event_type: "interrupt", scope, reason })) as Ack;
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

  /** Has the Hub execute a tool, under the same checks and policy as a model's call. */
  async callTool(
    scope: string,
    name: string,
    input: unknown,
    options: { signal?: AbortSignal } = {},
  ): Promise<ToolCallResult> {
    const call = { event_type: "bb_tool_call_request", scope, name, input };
    // A tool has its own deadline, and a question to a person its own: the Hub always answers.
    return (await this.request(call, options.signal, Infinity)) as unknown as ToolCallResult;
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

  /** Carries blobs for a program that owns this app, as `bb_blob` both ways. */
  carryBlobs(answer: (event: Event) => void, pace: () => Promise<void>): (event: Event) => void {
    return carry(this.running(), answer, pace);
  }

  /** Joins local programs of this user over a Unix socket, as telemetry with content: `bytebot tail`. */
  async listen(path: string): Promise<void> {
    let count = 0;
    const server = await listenSocket(path, (connect) => {
      const name = `tail-${++count}`;
      const from = offer({
        componentId: name,
        name,
        kind: "telemetry",
        content: true,
        primary: false,
        controller: false,
        inputCapable: false,
      });
      this.hub
        .connect(from, connect, this.closed.signal)
        .catch((error: unknown) => this.report(`${name}: ${String(error)}`));
    });
    this.sockets.push(server);
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
    return this.credentials.add(grant, grant.name === "", token);
  }

  /** Takes a token back, and ends what had dialled in with it. */
  async removeToken(token: string): Promise<void> {
    const credential = this.credentials.remove(token);
    if (credential) await this.dialIns.end(credential, "its token was taken back");
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
  private async control(event: Event): Promise<Event> {
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
    await Promise.all(this.sockets.map((server) => server.close()));
    await this.attachments.stop(reason);
    await this.hub.close();
    // Components that dialled in have heard the Hub's last words by now.
    await Promise.all(this.servers.map((server) => server.close()));
  }

  private report(line: string): void {
    const told = toReport(line);
    if (this.options.report) this.options.report(told);
    else process.stderr.write(`${told}\n`);
  }
}
