import { InvalidResponseDataError, type LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { BytebotError, type InferEnd, type InferReply } from "bytebot/sdk";
import type { InferContext } from "../provider.ts";
import { fromStream, shown, type Server } from "./errors.ts";
import { isEmpty, merged, toSignature, type Metadata } from "./signed.ts";
import { toUsage } from "./usage.ts";

type ToolUse = ReturnType<InferReply["toolUse"]>;

/** In one answer. A loop may make far fewer, and what keeps the calls apart looks at all of them for each. */
const MOST_CALLS = 1000;

/** One answer's way. */
export interface Relay extends InferContext {
  server: Server;
  /** Which model answers, and whether it is the one that the Hub thinks it is. */
  by: string;
  isPrimary: boolean;
  /** Takes what the package did otherwise than it was asked. */
  warn(warnings: readonly object[]): void;
  /** Called before the first chunk leaves. */
  started(): void;
}

/**
 * The parts of one streamed answer → chunks. Rejects with BytebotError where the stream holds an error or ends without
 * saying that it is complete.
 */
export async function relay(
  stream: ReadableStream<LanguageModelV4StreamPart>,
  reply: InferReply,
  context: Relay,
): Promise<InferEnd> {
  const { server } = context;
  const calls = new Calls(reply, context);
  const thinking = new Thinking(reply, context);
  let end: InferEnd | undefined;
  // Leaving the loop early cancels the stream, and with it the connection.
  for await (const part of stream) {
    switch (part.type) {
      case "stream-start":
        // Not every package has the list.
        context.warn((part.warnings as readonly object[] | undefined) ?? []);
        break;
      case "text-delta":
        if (part.delta === "") break;
        thinking.end();
        context.started();
        reply.text(part.delta);
        break;
      case "reasoning-start":
      case "reasoning-delta":
      case "reasoning-end":
        thinking.add(part);
        break;
      case "tool-input-start":
        thinking.end();
        if (!part.providerExecuted) calls.start(part.id, part.toolName, part.providerMetadata);
        break;
      case "tool-input-delta":
        calls.delta(part.id, part.delta);
        break;
      case "tool-call":
        thinking.end();
        if (!part.providerExecuted) calls.whole(part.toolCallId, part.toolName, part.input, part.providerMetadata);
        break;
      case "file":
        thinking.end();
        context.started();
        reply.block({ type: kindOf(part.mediaType), mime_type: part.mediaType, data: base64(part.data) });
        break;
      case "error":
        // The library's word for a stream without a finish reason.
        if (InvalidResponseDataError.isInstance(part.error)) throw cut(server);
        throw fromStream(part.error, server);
      case "finish":
        thinking.end();
        calls.end();
        end = { stop_reason: stopReason(part.finishReason, calls.count > 0, server), usage: toUsage(part.usage) };
        break;
      default:
        // Sources, what the provider ran itself: nothing a reply is made of.
        break;
    }
    await context.drained();
  }
  if (!end) throw cut(server);
  return end;
}

/** Thoughts as they come; the signature may come with any part of one, and of a thought without words there is nothing else. */
class Thinking {
  private readonly reply: InferReply;
  private readonly context: Relay;
  private id: string | undefined;
  private words = false;
  private metadata: Metadata | undefined;

  constructor(reply: InferReply, context: Relay) {
    this.reply = reply;
    this.context = context;
  }

  add(
    part: Extract<LanguageModelV4StreamPart, { type: "reasoning-start" | "reasoning-delta" | "reasoning-end" }>,
  ): void {
    if (part.id !== this.id) this.end();
    this.id = part.id;
    this.metadata = merged(this.metadata, part.providerMetadata);
    if (part.type === "reasoning-delta" && part.delta !== "") {
      this.context.started();
      this.reply.thinking(part.delta);
      this.words = true;
    }
    if (part.type === "reasoning-end") this.end();
  }

  /** Closes the block, so that the next thought is one of its own. */
  end(): void {
    const { metadata, words } = this;
    if (this.id === undefined) return;
    this.id = this.metadata = undefined;
    this.words = false;
    if (isEmpty(metadata)) return;
    if (!words) this.context.started();
    this.reply.signature(toSignature(metadata as Metadata, this.context.by, this.context.isPrimary));
  }
}

/** The calls of one answer: streamed, or whole at once, or both. */
class Calls {
  count = 0;
  private readonly reply: InferReply;
  private readonly context: Relay;
  private readonly open = new Map<string, { use: ToolUse; said: boolean; metadata: Metadata | undefined }>();

  constructor(reply: InferReply, context: Relay) {
    this.reply = reply;
    this.context = context;
  }

  start(id: string, name: string, metadata: Metadata | undefined): void {
    // An id that comes again, after its call has ended, is that of another call.
    if (this.open.has(id)) return;
    if (this.count === MOST_CALLS) {
      const { baseUrl } = this.context.server;
      throw new BytebotError(
        "unavailable",
        `${baseUrl} made more than ${MOST_CALLS} calls in one reply: use another model`,
      );
    }
    this.context.started();
    this.count += 1;
    this.open.set(id, { use: this.reply.toolUse({ id, name }), said: false, metadata });
  }

  delta(id: string, json: string): void {
    const call = this.open.get(id);
    if (!call || json === "") return;
    call.said = true;
    call.use.delta(json);
  }

  /** The package's own word for a call that is complete. */
  whole(id: string, name: string, input: string, metadata: Metadata | undefined): void {
    this.start(id, name, metadata);
    const call = this.open.get(id);
    if (!call) return;
    if (!call.said && typeof input === "string") call.use.delta(input);
    call.metadata = merged(call.metadata, metadata);
    this.close(id, call);
  }

  /** What was not said to be complete ends here: arguments that were cut are no JSON, and do not run. */
  end(): void {
    for (const [id, call] of this.open) this.close(id, call);
  }

  private close(id: string, { use, metadata }: { use: ToolUse; metadata: Metadata | undefined }): void {
    this.open.delete(id);
    use.end(isEmpty(metadata) ? {} : { provider: { by: this.context.by, options: metadata } });
  }
}

function stopReason(
  { unified, raw }: { unified: string; raw: string | undefined },
  called: boolean,
  server: Server,
): InferEnd["stop_reason"] {
  switch (unified) {
    case "length":
      return "max_tokens";
    case "content-filter":
      return "refusal";
    case "stop":
    case "tool-calls":
      // Some servers end a call with "stop".
      return called ? "tool_use" : "end_turn";
    default:
      // Some servers say nothing in many words.
      if (raw === undefined || raw === "" || unified === "interrupted") throw cut(server);
      throw new BytebotError(
        "unavailable",
        `${server.baseUrl} ended the reply for the reason "${shown(raw, server)}": try again`,
        { retryable: true },
      );
  }
}

function cut({ baseUrl }: Server): BytebotError {
  return new BytebotError("unavailable", `${baseUrl} ended the reply before it was complete: try again`, {
    retryable: true,
  });
}

function kindOf(mediaType: string): "image" | "audio" | "file" {
  if (mediaType.startsWith("image/")) return "image";
  return mediaType.startsWith("audio/") ? "audio" : "file";
}

function base64(data: { type: string; data?: unknown; url?: unknown }): string {
  const { data: bytes } = data;
  if (typeof bytes === "string") return bytes;
  if (bytes instanceof Uint8Array) return Buffer.from(bytes).toString("base64");
  throw new BytebotError("unavailable", "the model made a file that is only an address, which nobody here fetches");
}
