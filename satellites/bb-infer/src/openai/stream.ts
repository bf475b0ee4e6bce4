import { InvalidResponseDataError, type LanguageModelV4StreamPart, type LanguageModelV4Usage } from "@ai-sdk/provider";
import { BytebotError, type InferEnd, type InferReply, type Usage } from "bytebot/sdk";
import type { InferContext } from "../provider.ts";
import { fromStream, type Server } from "./errors.ts";

type ToolUse = ReturnType<InferReply["toolUse"]>;

/**
 * The parts of one streamed answer → chunks. `started` is called before the first one leaves. Rejects with BytebotError
 * where the stream holds an error or ends without saying that it is complete.
 */
export async function relay(
  stream: ReadableStream<LanguageModelV4StreamPart>,
  reply: InferReply,
  context: InferContext & { server: Server; started: () => void },
): Promise<InferEnd> {
  const calls = new Map<string, ToolUse>();
  const seen = new Set<string>();
  let end: InferEnd | undefined;
  // Leaving the loop early cancels the stream, and with it the connection.
  for await (const part of stream) {
    switch (part.type) {
      case "text-delta":
        context.started();
        reply.text(part.delta);
        break;
      case "reasoning-delta":
        context.started();
        reply.thinking(part.delta);
        break;
      case "tool-input-start":
        context.started();
        seen.add(part.id);
        calls.set(part.id, reply.toolUse({ id: part.id, name: part.toolName }));
        break;
      case "tool-input-delta":
        calls.get(part.id)?.delta(part.delta);
        break;
      case "tool-input-end":
        calls.get(part.id)?.end();
        calls.delete(part.id);
        break;
      case "tool-call":
        if (!seen.has(part.toolCallId)) {
          context.started();
          seen.add(part.toolCallId);
          const call = reply.toolUse({ id: part.toolCallId, name: part.toolName });
          call.delta(part.input);
          call.end();
        }
        break;
      case "error":
        // The library's word for a stream without a finish reason.
        if (InvalidResponseDataError.isInstance(part.error)) throw cut(context.server);
        throw fromStream(part.error, context.server);
      case "finish":
        end = {
          stop_reason: stopReason(part.finishReason.unified, seen.size > 0, context.server),
          usage: toUsage(part.usage),
        };
        break;
      default:
        // Warnings, metadata, sources: nothing a reply is made of.
        break;
    }
    await context.drained();
  }
  if (!end) throw cut(context.server);
  return end;
}

function stopReason(reason: string, called: boolean, server: Server): InferEnd["stop_reason"] {
  if (reason === "error" || reason === "interrupted") throw cut(server);
  if (reason === "length") return "max_tokens";
  if (reason === "content-filter") return "refusal";
  // Some servers end a call with "stop".
  return called ? "tool_use" : "end_turn";
}

function cut({ baseUrl }: Server): BytebotError {
  return new BytebotError("unavailable", `${baseUrl} ended the reply before it was complete: try again`, {
    retryable: true,
  });
}

/** An absent count is unknown. Cached tokens are counted beside the others, not among them. */
function toUsage({ inputTokens, outputTokens }: LanguageModelV4Usage): Usage {
  const input = inputTokens.noCache ?? inputTokens.total;
  const counts = {
    input_tokens: input,
    output_tokens: outputTokens.total,
    cache_read_tokens: inputTokens.cacheRead,
    cache_write_tokens: inputTokens.cacheWrite,
  };
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== undefined)) as Usage;
}
