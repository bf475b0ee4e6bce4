import { AsyncLocalStorage } from "node:async_hooks";
import { BytebotError, toReport } from "../wire/index.ts";
import type { Ack, BlobBlock, Block, Event, EventOf, Kind, Message, SyncAck, WireError } from "../wire/index.ts";
import { Answers, type Work } from "./answers.ts";
import { callWork } from "./calls.ts";
import type { Connection } from "./connection.ts";
import { newId } from "./outgoing.ts";
import { announcesIncremental, Histories } from "./histories.ts";
import { ask } from "./questions.ts";
import type { RequestOptions } from "./requests.ts";
import { resolveBlobs } from "./resolve.ts";
import type { ByPerson, Context, Satellite, SendOptions } from "./satellite.ts";
import { inScope, resolveScope } from "./scoped.ts";
import { failedAnswer, handlerWork, inferWork, missingWork, renderWork, requestKey } from "./serve.ts";
import type { AnyInfer, AnyRender } from "./serve.ts";
import type { Answer, Question, Tool } from "./tools.ts";
import { ToolSet } from "./toolset.ts";
import type { BlobReading } from "./transfers.ts";

type Run = <Args extends unknown[]>(fn: (...args: Args) => void, ...args: Args) => void;
const NONE: readonly Handler[] = [];

type Handler = (event: never, context: Context) => void | Promise<void>;

/** The satellite over one synced connection. */
export class ConnectedSatellite implements Satellite {
  readonly componentId: string;
  readonly granted: SyncAck;
  private readonly connection: Connection;
  private readonly answers: Answers;
  private readonly tools: ToolSet;
  /** By event type; a list is replaced, never changed, so that one that is being called stays as it is. */
  private readonly handlers = new Map<string, readonly Handler[]>();
  /** Events often come in runs of one scope: its context is made once a run. */
  private place: { scope: string | undefined; run?: Run } | undefined;
  /** Where it announced that it takes only what is new. */
  private readonly histories: Histories | undefined;
  private render: AnyRender | undefined;
  private infer: AnyInfer | undefined;
  private started = false;
  private lastCursor: string | undefined;

  constructor(connection: Connection, granted: SyncAck, capabilities: object = {}) {
    this.connection = connection;
    this.histories = announcesIncremental(capabilities) ? new Histories() : undefined;
    this.granted = granted;
    this.componentId = granted.component_id;
    this.answers = new Answers((event) => connection.send(event));
    this.tools = new ToolSet(connection);
    connection.signal.addEventListener("abort", () => this.answers.close(connection.signal.reason as BytebotError), {
      once: true,
    });
  }

  get signal(): AbortSignal {
    return this.connection.signal;
  }

  get cursor(): string | undefined {
    return this.lastCursor;
  }

  on<Type extends string>(
    type: Type,
    handler: (event: EventOf<Type>, context: Context) => void | Promise<void>,
  ): () => void {
    // The same function may be registered twice, and each registration ends by itself.
    const registered: Handler = (event, context) => handler(event, context);
    this.handlers.set(type, [...(this.handlers.get(type) ?? NONE), registered]);
    return () =>
      void this.handlers.set(
        type,
        (this.handlers.get(type) ?? NONE).filter((other) => other !== registered),
      );
  }

  onInferChunk(handler: Parameters<Satellite["onInferChunk"]>[0]): () => void {
    return this.on("infer_chunk", handler);
  }

  onRender(handler: never): void {
    this.serves("context", "onRender", this.render);
    this.render = handler;
  }

  onInfer(handler: never): void {
    this.serves("infer", "onInfer", this.infer);
    this.infer = handler;
  }

  tool(tool: Tool): void {
    this.serves("toolsource", "tool");
    this.tools.add(tool);
  }

  async sendUserEvent(scope: string | null, content: string | Block[], options: SendOptions = {}): Promise<Ack> {
    const { id = newId("u"), mode, principal } = options;
    const said = typeof content === "string" ? { text: content } : { content };
    return this.acknowledged({
      event_type: "user_event",
      type: "message",
      id,
      scope: resolveScope(scope),
      ...said,
      mode,
      principal,
    });
  }

  async interrupt(scope: string | null, reason?: string, { principal }: ByPerson = {}): Promise<Ack> {
    const event = { event_type: "interrupt", id: newId("i"), scope: resolveScope(scope) };
    return this.acknowledged({ ...event, reason, principal });
  }

  async ask(scope: string | null, question: Question): Promise<Answer> {
    return ask(this.connection, scope, question);
  }

  async answer(...[question, outcome, value, options = {}]: Parameters<Satellite["answer"]>): Promise<Ack> {
    const { principal, expiresAt: expires_at } = options;
    const reply = { event_type: "input_reply", id: newId("a"), in_reply_to: question.id, scope: question.scope };
    return this.acknowledged({ ...reply, outcome, value, expires_at, principal });
  }

  async putBlob(...[scope, source, options]: Parameters<Satellite["putBlob"]>): Promise<BlobBlock> {
    return this.connection.blobs.put(resolveScope(scope), source, options);
  }

  async readBlob(...[scope, ref, options]: Parameters<Satellite["readBlob"]>): Promise<BlobReading> {
    return this.connection.blobs.read(resolveScope(scope), ref, options?.signal);
  }

  async getBlob(...args: Parameters<Satellite["getBlob"]>): Promise<{ mimeType: string; bytes: Uint8Array }> {
    const { mimeType, bytes } = await this.readBlob(...args);
    const pieces: Uint8Array[] = [];
    for await (const piece of bytes) pieces.push(piece);
    return { mimeType, bytes: Buffer.concat(pieces) };
  }

  async resolveBlobs(...[scope, messages, options = {}]: Parameters<Satellite["resolveBlobs"]>): Promise<Message[]> {
    const meant = resolveScope(scope);
    const read = async (ref: string) => (await this.getBlob(meant, ref, { signal: options.signal })).bytes;
    return resolveBlobs(messages, read, options);
  }

  send(event: Event): void {
    this.connection.send(event);
  }

  request(event: Event, options?: RequestOptions): Promise<Event> {
    return this.connection.request(event, options);
  }

  drained(): Promise<void> {
    return this.connection.drained();
  }

  async start(): Promise<string> {
    if (this.started)
      throw new BytebotError("conflict", "start() was already called: it delivers events until the connection closes");
    this.started = true;
    this.connection.start((event) => this.deliver(event));
    await this.tools.start();
    return this.connection.ended;
  }

  close(reason = "closed by the satellite"): Promise<void> {
    return this.connection.close(reason);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  private async acknowledged(event: Event): Promise<Ack> {
    return (await this.connection.request(event)) as Ack;
  }

  /** Only the kind that gets the requests may say that it serves them, and one handler does. */
  private serves(kind: Kind, method: string, taken?: unknown): void {
    if (this.granted.kind !== kind) {
      throw new BytebotError(
        "invalid_params",
        `${method}() is for kind "${kind}", and this satellite synced as "${this.granted.kind}": change one of them`,
      );
    }
    if (taken)
      throw new BytebotError(
        "conflict",
        `${method}() already has its handler: one answers, so join both in one function`,
      );
  }

  private deliver(event: Event): void {
    if (typeof event["cursor"] === "string") this.lastCursor = event["cursor"];
    const scope = typeof event["scope"] === "string" ? event["scope"] : undefined;
    const { inContext } = this.connection;
    const { place } = this;
    if (!place || place.scope !== scope) {
      this.place = { scope };
      return inContext(inScope<void>, scope, () => this.tell(event));
    }
    place.run ??= inContext(() => inScope(scope, () => AsyncLocalStorage.snapshot()));
    place.run(this.tell, event);
  }

  private readonly tell = (event: Event): void => {
    const heard = this.handlers.get(event.event_type) ?? NONE;
    // An observer's copy is not addressed to this side.
    const addressed = event["observed"] !== true;
    const key = addressed ? requestKey(event) : undefined;
    if (key !== undefined) this.serve(event, key, heard);
    else for (const handler of heard) this.hear(handler, event);
    if (addressed && event.event_type === "bb_cancel") this.answers.cancel(event["target"], event["reason"]);
    const all = this.handlers.get("*") ?? NONE;
    for (const handler of all) this.hear(handler, event);
    if (event.event_type === "bb_error" && heard.length + all.length === 0) {
      const { code, message } = event as unknown as WireError;
      console.error(toReport(`bytebot: the Hub answered ${code}: ${message}`));
    }
  };

  /** By what was registered for it; else by the handlers of its type, which then send the answer; else it is refused. */
  private serve(event: Event, key: string, heard: readonly Handler[]): void {
    if (this.signal.aborted) return;
    const work = this.work(event, key);
    if (work) {
      this.answers.serve(work);
      for (const handler of heard) this.hear(handler, event);
    } else if (heard.length === 0) this.answers.serve(missingWork(event, key));
    else {
      const run = async (signal: AbortSignal) =>
        Promise.all(heard.map(async (handler) => handler(event as never, { signal })));
      this.answers.serve(handlerWork(event, key, run));
    }
  }

  private work(event: Event, key: string): Work | undefined {
    switch (event.event_type) {
      case "bb_context_render_request":
        return this.render && this.rendering(event as EventOf<"bb_context_render_request">, this.render);
      case "bb_infer_request":
        return this.infer && inferWork(event as EventOf<"bb_infer_request">, this.infer, this.connection);
      default: {
        const call = event as EventOf<"bb_tool_call_request">;
        const tool = this.tools.get(call.name);
        return tool && callWork(this.connection, call, key, tool);
      }
    }
  }

  /** The handler sees the whole history, whatever of it came (rule HIS-2). */
  private rendering(request: EventOf<"bb_context_render_request">, render: AnyRender): Work {
    if (!this.histories) return renderWork(request, render);
    const history = this.histories.whole(request);
    if (history) return renderWork({ ...request, history, history_whole: true } as typeof request, render);
    const error = new BytebotError("cursor_expired", "the history before this is not here any more: send the whole");
    return { key: request.id, run: () => Promise.reject(error), failed: (error) => failedAnswer(request, error) };
  }

  private hear(handler: Handler, event: Event): void {
    const report = (thrown: unknown) => console.error(`bytebot: a handler of ${event.event_type} failed:`, thrown);
    try {
      // A handler typed to return nothing may still return what its last call did.
      const result: unknown = handler(event as never, { signal: this.signal });
      if (result instanceof Promise) result.catch(report);
    } catch (thrown) {
      report(thrown);
    }
  }
}
