import type {
  Ack,
  BlobBlock,
  Block,
  ContextRenderRequest,
  ContextRenderResult,
  Event,
  EventOf,
  EventType,
} from "../wire/index.ts";
import type { OpenaiInferRequest, OpenaiRenderRequest, OpenaiRenderResult } from "../wire/index.ts";
import type { InferChunk, InferRequest, InputStrict, Message, SyncAck } from "../wire/index.ts";
import type { InferEnd, InferReply } from "./reply.ts";
import type { RequestOptions } from "./requests.ts";
import type { ResolveOptions } from "./resolve.ts";
import type { Answer, Question, Tool } from "./tools.ts";
import type { BlobReading, BlobSource, PutBlobOptions } from "./transfers.ts";

/** `signal` aborts when the Hub cancels what the handler works on, or the connection closes. */
export interface Context {
  signal: AbortSignal;
}

/** What the model shall see this round; what is left out is the Hub's default. */
export type RenderReply = Partial<
  Pick<ContextRenderResult, "system" | "messages" | "tools" | "tool_choice" | "infer" | "model" | "params">
>;

/** The same in OpenAI's shape. */
export type OpenaiRenderReply = Partial<
  Pick<OpenaiRenderResult, "system" | "messages" | "tools" | "tool_choice" | "infer" | "model" | "params">
>;

export type Render<Request, Reply> = (request: Request, context: Context) => Reply | Promise<Reply>;
export type Infer<Request> = (request: Request, reply: InferReply, context: Context) => Promise<InferEnd>;

/** Whose doing it is, for a satellite that many people share and that the app lets vouch for them. */
export interface ByPerson {
  principal?: string | undefined;
}

export interface SendOptions extends ByPerson {
  /** The idempotency key; absent: a fresh one. */
  id?: string | undefined;
  /** While a turn runs; absent: the scope's policy. */
  mode?: "queue" | "steer" | "replace" | "refuse" | undefined;
}

export interface AnswerOptions extends ByPerson {
  /** Until when an approval binds at most; milliseconds since 1970. */
  expiresAt?: number | undefined;
}

export interface BlobOptions {
  signal?: AbortSignal | undefined;
}

/**
 * A synced connection. Handlers start in the order of the events, in the scope of their event, and are not waited for.
 * What waits for the Hub rejects with BytebotError: its `bb_error`, `timeout` (30 s), or `unavailable` when the
 * connection closes. A null scope means the current one (`scoped`, or that of the event being handled); where there is
 * none: `invalid_params`.
 */
export interface Satellite extends AsyncDisposable {
  readonly componentId: string;
  readonly granted: SyncAck;
  /** Aborts when the connection closes. */
  readonly signal: AbortSignal;
  /** The place in the log of the newest event that was handed to handlers: what `sync({ resume })` takes after a return. */
  readonly cursor: string | undefined;
  /** Events of this type, or of all with "*", from `start` on; returns how to stop. */
  on<Type extends EventType | "*" | (string & {})>(
    type: Type,
    handler: (event: EventOf<Type>, context: Context) => void | Promise<void>,
  ): () => void;
  onInferChunk(handler: (chunk: InferChunk, context: Context) => void | Promise<void>): () => void;
  /**
   * Serves renders (kind "context"): one handler. Throw BytebotError to fail the turn with its code. `history` is
   * always the whole, also where the satellite announced `history: { incremental: {} }`; it is not the handler's to change.
   */
  onRender(handler: Render<ContextRenderRequest, RenderReply>): void;
  /** For a context that announced `api_shape: "openai"`: give the parameter this type. */
  onRender(handler: Render<OpenaiRenderRequest, OpenaiRenderReply>): void;
  /** Serves inference (kind "infer"): one handler. Throw BytebotError to fail the round with its code. */
  onInfer(handler: Infer<InferRequest>): void;
  /** For an infer that announced `api_shape: "openai"`: give the parameter this type. */
  onInfer(handler: Infer<OpenaiInferRequest>): void;
  /** Adds a tool (kind "toolsource"); `start` registers them all, later ones register the whole set again. */
  tool(tool: Tool): void;
  /** Resolves when the input is durable; `fate` says what became of it. */
  sendUserEvent(scope: string | null, content: string | Block[], options?: SendOptions): Promise<Ack>;
  /** Stops what runs in the scope and below. */
  interrupt(scope: string | null, reason?: string, options?: ByPerson): Promise<Ack>;
  /**
   * Asks the person, within a tool's `run` about its call, elsewhere (kind "context") in the scope; meanwhile the deadline of
   * the call, or of the render, stands still. Rejects when the call is cancelled.
   */
  ask(scope: string | null, question: Question): Promise<Answer>;
  answer(
    question: InputStrict,
    outcome: "accepted" | "declined",
    value?: unknown,
    options?: AnswerOptions,
  ): Promise<Ack>;
  /**
   * Keeps bytes as a blob of the scope; the block it resolves with may stand in an input, a result, an answer there.
   * Rejects with `too_large` or `overloaded` where they are too many.
   */
  putBlob(scope: string | null, source: BlobSource, options?: PutBlobOptions): Promise<BlobBlock>;
  /** All bytes of a blob of the scope. Rejects with `not_found`. */
  getBlob(scope: string | null, ref: string, options?: BlobOptions): Promise<{ mimeType: string; bytes: Uint8Array }>;
  /** The same as a stream: what is behind is held here, so that nothing else waits. */
  readBlob(scope: string | null, ref: string, options?: BlobOptions): Promise<BlobReading>;
  /** The messages with the bytes of their blobs in place, for whoever has to send them on: an infer. */
  resolveBlobs(scope: string | null, messages: readonly Message[], options?: ResolveOptions): Promise<Message[]>;
  /** Any event, as it is on the wire. Throws BytebotError where it cannot cross. */
  send(event: Event): void;
  /** Any event, under a fresh `id` where it has none; resolves with what answers it, also where that says `success: false`. */
  request(event: Event, options?: RequestOptions): Promise<Event>;
  /** Resolves when what was sent has mostly left: wait for it in a loop that sends much. */
  drained(): Promise<void>;
  /** Delivers events, the held ones first, until the connection closes; resolves with the reason. */
  start(): Promise<string>;
  close(reason?: string): Promise<void>;
}
