import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { BytebotError, type InferEnd, type InferReply, type InferRequestEvent } from "bytebot/sdk";
import type { InferContext, Provider } from "../provider.ts";
import { toBytebotError, type Server } from "./errors.ts";
import { SENDABLE } from "./prompt.ts";
import { retried } from "./retry.ts";
import { PROVIDER, toCall } from "./settings.ts";
import { relay } from "./stream.ts";
import { watchedFetch } from "./watched.ts";

const IDLE_MS = 120_000;

export interface OpenAICompatibleOptions {
  /** Up to and without `/chat/completions`; usually ends in `/v1`. */
  baseUrl: string;
  model: string;
  /** Name of the environment variable that holds the key; it is read at each request and never kept. */
  keyEnv?: string | undefined;
  headers?: Record<string, string> | undefined;
  /** Defaults for every request, plus `idle_timeout_ms`: how long the server may be silent (120,000). */
  params?: Record<string, unknown> | undefined;
  env?: NodeJS.ProcessEnv | undefined;
}

/** Any server that speaks OpenAI's chat completions. Nothing is sent before the first request. */
export function openAICompatible(options: OpenAICompatibleOptions): Provider {
  const { baseUrl, model, keyEnv, headers = {}, env = process.env } = options;
  const { idle_timeout_ms = IDLE_MS, ...defaults } = options.params ?? {};
  if (typeof idle_timeout_ms !== "number" || !(idle_timeout_ms > 0)) {
    throw new BytebotError(
      "invalid_params",
      `params.idle_timeout_ms is ${JSON.stringify(idle_timeout_ms)}: a number of milliseconds is needed`,
    );
  }
  const once = async (
    request: InferRequestEvent,
    reply: InferReply,
    context: InferContext,
    started: () => void,
  ): Promise<InferEnd> => {
    const apiKey = keyEnv === undefined ? undefined : env[keyEnv]?.trim();
    const server: Server = { baseUrl, model: request.model ?? model, keyEnv, key: apiKey };
    // Sent as it is, it would come back whole in the error of `fetch`.
    if (apiKey && !/^[\x20-\x7e]+$/.test(apiKey)) {
      throw new BytebotError(
        "unauthorized",
        `The key in ${keyEnv} holds a line break or a character no key has: copy it again`,
      );
    }
    try {
      const api = createOpenAICompatible({
        name: PROVIDER,
        baseURL: baseUrl,
        headers,
        includeUsage: true,
        fetch: watchedFetch(server, idle_timeout_ms),
        ...(apiKey ? { apiKey } : {}),
      });
      const call = toCall(request, { ...defaults, ...request.params });
      const { stream } = await api.chatModel(server.model).doStream({ ...call, abortSignal: context.signal });
      return await relay(stream, reply, { ...context, server, started });
    } catch (error) {
      throw context.signal.aborted ? error : toBytebotError(error, server);
    }
  };

  return {
    label: `${model} at ${baseUrl}`,
    media: SENDABLE,
    async infer(request, reply, context) {
      let begun = false;
      const attempt = () => once(request, reply, context, () => (begun = true));
      try {
        // What the reader has seen cannot be unsaid: from the first chunk on, the Hub repeats the round instead.
        return await retried(attempt, () => !begun, context.signal);
      } catch (error) {
        if (context.signal.aborted) throw new BytebotError("cancelled", "the request was stopped", { cause: error });
        throw error;
      }
    },
    close: () => Promise.resolve(),
  };
}
