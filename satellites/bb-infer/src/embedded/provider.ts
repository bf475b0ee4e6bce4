import {
  BytebotError,
  type InferEnd,
  type InferReply,
  type InferRequestEvent,
  type ModelTool,
  type Usage,
} from "bytebot/sdk";
import { resolveChatWrapper, type LlamaText } from "node-llama-cpp";
import type { Options } from "../options.ts";
import type { InferContext, Provider } from "../provider.ts";
import { Queue } from "../queue.ts";
import { base } from "./base.ts";
import { embeddedClaims } from "./claims.ts";
import { argumentsOf, grammarOf, oneOf, type Shape } from "./grammar.ts";
import { instruct } from "./instruct.ts";
import { isResult } from "./messages.ts";
import { Model, type Completed, type Completion } from "./model.ts";
import { toParams, type EmbeddedParams } from "./params.ts";
import { NONE, tooLarge, type Asked, type Draft, type Prompts, type Room } from "./prompt.ts";

const MAX_WAITING = 16;
/** Tokens; a copy that has not ended by then goes in circles. */
const MAX_COPIED = 128;

export interface EmbeddedOptions {
  /** Path of the GGUF file. */
  file: string;
  /** Defaults for every request, as in `params.ts`; context_size, in tokens, is set when the model is loaded. */
  params?: Record<string, unknown> | undefined;
  /** How calls are made; absent: by grammar, as native ones. */
  tools?: Options["tools"];
  signal: AbortSignal;
}

/** Loads the file and answers from it, one request at a time. Rejects as `Model.load`, and `invalid_params`. */
export async function openEmbedded({ file, params = {}, tools, signal }: EmbeddedOptions): Promise<Provider> {
  const defaults = toParams(params);
  const model = await Model.load(file, defaults.contextSize, signal);
  // Without a template in the file the library would guess one from its name, and a base model knows none.
  const prompts = model.instruct ? instruct(resolveChatWrapper(model.model, { warningLogs: false })) : base;
  return new Embedded(model, prompts, { params, tools });
}

/** What one request writes to and counts. */
interface Round {
  request: InferRequestEvent;
  reply: InferReply;
  params: EmbeddedParams;
  signal: AbortSignal;
  usage: { input_tokens: number; output_tokens: number; cache_read_tokens: number };
  /** Prompt tokens in `usage` so far: arguments go on from the prompt of the choice, which counts once. */
  counted: number;
}

type Step = Pick<Completion, "lane" | "stops" | "grammar" | "maxTokens" | "onText"> & Pick<Draft, "copies">;

class Embedded implements Provider {
  readonly label: string;
  readonly capabilities: Record<string, unknown>;
  private readonly model: Model;
  private readonly prompts: Prompts;
  private readonly defaults: Record<string, unknown>;
  private readonly queue = new Queue(MAX_WAITING, full);
  private readonly closing = new AbortController();

  constructor(model: Model, prompts: Prompts, options: { params: Record<string, unknown>; tools: Options["tools"] }) {
    this.model = model;
    this.prompts = prompts;
    this.defaults = options.params;
    this.capabilities = { ...embeddedClaims(model.name, options), context_tokens: model.contextSize };
    this.label = `${model.name} (${model.instruct ? "instruct" : "base"} model, in this process)`;
  }

  async infer(request: InferRequestEvent, reply: InferReply, context: InferContext): Promise<InferEnd> {
    if (request.model !== undefined && request.model !== this.model.name) {
      throw new BytebotError(
        "not_found",
        `the embedded model is ${this.model.name}, and the request names ${request.model}: leave model out`,
      );
    }
    const params = toParams({ ...this.defaults, ...request.params });
    const signal = AbortSignal.any([context.signal, this.closing.signal]);
    const usage = { input_tokens: 0, output_tokens: 0, cache_read_tokens: 0 };
    try {
      return await this.queue.run(signal, () => this.round({ request, reply, params, signal, usage, counted: 0 }));
    } catch (error) {
      if (signal.aborted) throw new BytebotError("cancelled", "the embedded model was stopped", { cause: error });
      throw error;
    }
  }

  async close(): Promise<void> {
    this.closing.abort(new BytebotError("cancelled", "the embedded model is being closed"));
    await this.queue.idle();
    await this.model.close();
  }

  private async round(round: Round): Promise<InferEnd> {
    const { request, usage } = round;
    const tools = offered(request);
    const name = tools.length > 0 ? await this.choose(round, tools) : NONE;
    const tool = tools.find((one) => one.name === name);
    const finished = tool ? await this.call(round, tools, tool) : await this.answer(round);
    return { stop_reason: finished ? (tool ? "tool_use" : "end_turn") : "max_tokens", usage: usage satisfies Usage };
  }

  /** The model names a tool, or that it needs none; the grammar only leaves names that exist. */
  private async choose(round: Round, tools: readonly ModelTool[]): Promise<string> {
    const must = round.request.tool_choice?.type === "any" || round.request.tool_choice?.type === "tool";
    const names = [...tools.map((tool) => tool.name), ...(must ? [] : [NONE])];
    if (names.length === 1) return names[0] as string;
    const { nameEnd } = this.prompts;
    const { text, finished } = await this.complete(round, this.prompts.choice(asked(round.request, tools)), {
      lane: "choice",
      stops: [nameEnd],
      grammar: await oneOf(this.model.llama, names, nameEnd),
      // A token is a byte at least: no name is cut short.
      maxTokens: Math.max(...names.map((name) => Buffer.byteLength(` ${name}${nameEnd}`))) + 1,
    });
    const said = text.trim();
    if (finished && names.includes(said)) return said;
    throw new BytebotError(
      "unavailable",
      `the embedded model was to name one of ${names.length} tools and came as far as "${said}": offer fewer, or raise opts.params.context_size`,
    );
  }

  private async call(round: Round, tools: readonly ModelTool[], tool: ModelTool): Promise<boolean> {
    const use = round.reply.toolUse({ name: tool.name });
    const { finished } = await this.complete(round, this.prompts.input(asked(round.request, tools), tool), {
      lane: "choice",
      stops: [],
      grammar: await argumentsOf(this.model.llama, tool),
      maxTokens: round.params.maxTokens,
      onText: (delta) => use.delta(delta),
    });
    use.end();
    return finished;
  }

  private async answer(round: Round): Promise<boolean> {
    const { shape } = round.params;
    if (shape) return this.shaped(round, shape);
    const { prompt, stops, copies } = this.prompts.answer(asked(round.request, []), this.room(round));
    const { finished } = await this.complete(round, prompt, {
      lane: "answer",
      copies,
      stops: [...stops, ...round.params.stop],
      maxTokens: copies ? Math.min(MAX_COPIED, round.params.maxTokens) : round.params.maxTokens,
      onText: trimmed((text) => round.reply.text(text)),
    });
    return finished;
  }

  /** The grammar's text as it is: white space may be a part of it. */
  private async shaped(round: Round, shape: Shape): Promise<boolean> {
    const grammar = await grammarOf(this.model.llama, shape);
    const schema = "schema" in shape ? shape.schema : undefined;
    const { prompt, stops } = this.prompts.shaped(asked(round.request, []), this.room(round), schema);
    const { finished } = await this.complete(round, prompt, {
      lane: "answer",
      stops: [...stops, ...round.params.stop],
      grammar,
      maxTokens: round.params.maxTokens,
      onText: (text) => round.reply.text(text),
    });
    return finished;
  }

  private async complete(round: Round, prompt: LlamaText, { copies, ...rest }: Step): Promise<Completed> {
    const { usage, params, signal } = round;
    const room = this.room(round, rest.maxTokens);
    const tokens = room.tokens(prompt);
    if (tokens > room.limit) throw tooLarge(tokens, room);
    // A grammar already says what may come: a penalty on repeats would only push digits and names out of it.
    const sampling = copies || rest.grammar ? { ...params.sampling, repeatPenalty: 1 } : params.sampling;
    const done = await this.model.complete({ prompt, signal, sampling, ...rest });
    usage.input_tokens += done.read;
    usage.output_tokens += done.written;
    usage.cache_read_tokens += Math.max(0, done.cached - round.counted);
    round.counted += done.read + done.cached;
    return done;
  }

  private room({ params }: Round, maxTokens = params.maxTokens): Room {
    const limit = this.model.contextSize - Math.max(params.maxTokens, maxTokens) - 2;
    return { limit, tokens: (prompt) => this.model.tokens(prompt).length };
  }
}

function full(): BytebotError {
  const message = `the embedded model answers one request at a time, and ${MAX_WAITING} wait already: try again later, or attach a second infer`;
  return new BytebotError("overloaded", message, { retryable: true, retryAfterMs: 5_000 });
}

/** Tools the model may call now. After a result it answers in words: forced to call again, it would never end. */
function offered({ tools = [], tool_choice, messages }: InferRequestEvent): readonly ModelTool[] {
  const last = messages.at(-1);
  if (tool_choice?.type === "none" || (last && isResult(last))) return [];
  if (tool_choice?.type !== "tool") return tools;
  const named = tools.filter((tool) => tool.name === tool_choice["name"]);
  if (named.length === 0)
    throw new BytebotError(
      "invalid_params",
      `tool_choice names ${String(tool_choice["name"])}, which is not among the tools of this request`,
    );
  return named;
}

function asked({ system, messages }: InferRequestEvent, tools: readonly ModelTool[]): Asked {
  return { system, messages, tools };
}

/** Passes text on without the blanks at its two ends, which belong to the pattern around a reply. */
function trimmed(pass: (text: string) => void): (delta: string) => void {
  let begun = false;
  let held = "";
  return (delta) => {
    const text = begun ? held + delta : (held + delta).trimStart();
    const solid = text.trimEnd();
    held = text.slice(solid.length);
    begun ||= solid !== "";
    if (solid !== "") pass(solid);
  };
}
