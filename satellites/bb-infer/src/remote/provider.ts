import { BytebotError, type InferEnd, type InferReply, type InferRequestEvent } from "bytebot/sdk";
import type { InferContext, Provider } from "../provider.ts";
import { toBytebotError, type Server } from "./errors.ts";
import { formatOf, knownOf, mediaOf, ownKeyOf } from "./known.ts";
import { loadProvider, type Models, type ProviderSettings } from "./load.ts";
import { marked, type Cache } from "./marks.ts";
import { defaultRetry, retried, type Retry } from "./retry.ts";
import { toCall } from "./settings.ts";
import { relay } from "./stream.ts";
import { defaultTimeouts, watchedFetch, type Timeouts } from "./watched.ts";
import { Warnings } from "./warnings.ts";

type Given<T> = { [Name in keyof T]?: T[Name] | undefined };

export interface RemoteOptions {
  /** A name of `known.ts`, or an npm package's. */
  provider: string;
  model: string;
  /** Of the provider "openai": which of its two formats; default: "responses". */
  api?: "responses" | "chat" | undefined;
  /** Up to and without what the format itself adds; absent: the provider's own place. */
  baseUrl?: string | undefined;
  /** Name of the environment variable that holds the key; it is read at each request and never kept. */
  keyEnv?: string | undefined;
  headers?: Record<string, string> | undefined;
  /** Defaults for every request. */
  params?: Record<string, unknown> | undefined;
  /** What else the package's factory takes: a region, a project. */
  settings?: Record<string, unknown> | undefined;
  timeouts?: Given<Timeouts> | undefined;
  retry?: Given<Retry> | undefined;
  cache?: Cache | undefined;
  /** MIME types that the model takes, where it is known better than by its provider. */
  media?: readonly string[] | undefined;
  /** What the satellite says of this model (rule CON-10). */
  capabilities?: Record<string, unknown> | undefined;
  /** False for a fallback: thoughts that another model signed are not sent to it, nor its own to others. */
  isPrimary?: boolean | undefined;
  env?: NodeJS.ProcessEnv | undefined;
  /** Takes a line for people: what the package left out of a request. Absent: stderr. */
  report?: ((line: string) => void) | undefined;
}

/**
 * A model behind HTTP, by a provider package of the AI SDK. Nothing is sent before the first request. Rejects with
 * `not_found` where the package is not installed, and `invalid_params`.
 */
export async function openRemote(options: RemoteOptions): Promise<Provider> {
  return new Remote(options, await loadProvider(options.provider));
}

class Remote implements Provider {
  readonly label: string;
  readonly media: RegExp;
  readonly capabilities: Record<string, unknown>;
  private readonly options: RemoteOptions;
  private readonly create: (settings: ProviderSettings) => Models;
  private readonly baseUrl: string;
  private readonly timeouts: Timeouts;
  private readonly retry: Retry;
  private readonly warnings: Warnings;
  /** Parameters of the package's own, unless a request says otherwise. */
  private readonly defaults: Record<string, unknown>;

  constructor(options: RemoteOptions, create: (settings: ProviderSettings) => Models) {
    const { provider, model, baseUrl = knownOf(provider).baseUrl } = options;
    this.options = options;
    this.create = create;
    this.baseUrl = baseUrl ?? provider;
    this.label = `${model} at ${this.baseUrl}`;
    this.media = mediaOf(options.media ?? knownOf(provider).media);
    this.capabilities = options.capabilities ?? {};
    this.timeouts = over(defaultTimeouts, options.timeouts);
    this.retry = over(defaultRetry, options.retry);
    this.warnings = new Warnings(options.report ?? ((line) => console.error(line)));
    const format = formatOf(provider, options.api);
    // What is not kept by the vendor comes back with us: thoughts included, encrypted.
    const thinks = format === "gemini" && "thinking" in this.capabilities;
    this.defaults =
      format === "responses" ? { store: false } : thinks ? { thinkingConfig: { includeThoughts: true } } : {};
  }

  async infer(request: InferRequestEvent, reply: InferReply, context: InferContext): Promise<InferEnd> {
    let begun = false;
    const attempt = () => this.once(request, reply, context, () => (begun = true));
    try {
      // What the reader has seen cannot be unsaid: from the first chunk on, the Hub repeats the round instead.
      return await retried(attempt, () => !begun, this.retry, context.signal);
    } catch (error) {
      if (context.signal.aborted) throw new BytebotError("cancelled", "the request was stopped", { cause: error });
      throw error;
    }
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  private async once(
    request: InferRequestEvent,
    reply: InferReply,
    context: InferContext,
    started: () => void,
  ): Promise<InferEnd> {
    const { provider, api, params, cache = "auto", isPrimary = true } = this.options;
    const { marks } = knownOf(provider);
    const server = this.server(request.model);
    const by = `${provider}/${server.model}`;
    const failed = new AbortController();
    const abortSignal = AbortSignal.any([context.signal, failed.signal]);
    try {
      const model = this.create(this.settings(server, request))(server.model, api);
      const call = toCall(
        request,
        { ...params, ...request.params },
        {
          by,
          isPrimary,
          media: this.media,
          textResults: formatOf(provider, api) === "chat",
          option: optionOf(model.provider),
          defaults: this.defaults,
          ownTopK: knownOf(provider).format === "chat",
        },
      );
      const prompt = marked(call.prompt, marks, cache);
      const { stream } = await model.doStream({ ...call, prompt, abortSignal });
      const warn = (warnings: readonly object[]) => this.warnings.tell(warnings, server);
      return await relay(stream, reply, { ...context, server, by, isPrimary, warn, started });
    } catch (error) {
      // A package that throws may have left the reply unread, and its connection open.
      failed.abort();
      throw context.signal.aborted ? error : toBytebotError(error, server);
    }
  }

  private server(model = this.options.model): Server {
    const { provider, baseUrl, env = process.env } = this.options;
    const keyEnv = this.options.keyEnv ?? ownKeyOf({ provider, baseUrl });
    const key = keyEnv === undefined ? undefined : env[keyEnv]?.trim();
    const orElse =
      knownOf(provider).format === "converse" && baseUrl !== undefined
        ? ", or opts.settings.region, to sign with the keys of AWS"
        : undefined;
    const server: Server = { baseUrl: this.baseUrl, model, keyEnv, key: key === "" ? undefined : key, orElse };
    // Sent as it is, it would come back whole in the error of `fetch`.
    if (key && !/^[\x20-\x7e]+$/.test(key)) {
      throw new BytebotError(
        "unauthorized",
        `The key in ${keyEnv} holds a line break or a character no key has: copy it again`,
      );
    }
    return server;
  }

  private settings(server: Server, { tools = [] }: InferRequestEvent): ProviderSettings {
    const { provider, api, baseUrl, headers, settings } = this.options;
    const { format, baseUrl: own, keyEnv } = knownOf(provider);
    const isOwnPlace = baseUrl === undefined || baseUrl === own;
    if (isOwnPlace && !server.key && keyEnv !== undefined && format !== "converse") {
      throw new BytebotError(
        "unauthorized",
        `No key for ${this.baseUrl}: set ${server.keyEnv} in the environment, and let the app pass it on (env)`,
      );
    }
    // A package without a key looks for one itself, or refuses: a server of one's own may want none, and gets no other's.
    const wantsKey = format !== "chat" || provider === "openai";
    // A region says that requests are signed there with the keys of AWS: the server gets an id and a session's token.
    const isSigned = format === "converse" && settings?.["region"] !== undefined;
    const noKey = isSigned ? "" : "none";
    const key = server.key ?? (wantsKey && !isOwnPlace ? noKey : undefined);
    return {
      ...settings,
      ...(format === "chat" && provider !== "openai"
        ? { name: COMPATIBLE, includeUsage: true, supportsStructuredOutputs: true }
        : {}),
      ...(key === undefined ? {} : { apiKey: key }),
      ...((baseUrl ?? own) ? { baseURL: baseUrl ?? (own as string) } : {}),
      headers: { ...(settings?.["headers"] as Record<string, string> | undefined), ...headers },
      fetch: watchedFetch(
        server,
        formatOf(provider, api),
        this.timeouts,
        tools.map(({ name }) => name),
      ),
    };
  }
}

/** The name under which an OpenAI-compatible server takes parameters of its own. */
const COMPATIBLE = "server";

/** `amazon-bedrock` and `openai.responses` take their own parameters as `amazonBedrock` and `openai`. */
function optionOf(provider: string): string {
  const [name = provider] = provider.split(".");
  return name.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** What is given, and the defaults for the rest. */
function over<T extends object>(defaults: T, given: Given<T> = {}): T {
  return { ...defaults, ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) };
}
