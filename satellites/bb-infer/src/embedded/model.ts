import { availableParallelism } from "node:os";
import { basename } from "node:path";
import { BytebotError } from "bytebot/sdk";
import {
  getLlama,
  LlamaCompletion,
  LlamaLogLevel,
  LlamaText,
  type Llama,
  type LlamaContextSequence,
  type LlamaGrammar,
  type LlamaModel,
  type Token,
} from "node-llama-cpp";

/** Tokens evaluated before the next look at the abort signal: less than half a second on a slow core. */
const BATCH = 64;

/** Choices and answers begin with different patterns: each lane keeps the tokens of its last prompt, so that a pattern is read once. */
export type Lane = "choice" | "answer";

/** How the next tokens are picked. */
export interface Sampling {
  temperature: number;
  topP?: number | undefined;
  topK?: number | undefined;
  seed?: number | undefined;
  repeatPenalty: number;
  presencePenalty?: number | undefined;
  frequencyPenalty?: number | undefined;
}

export interface Completion {
  lane: Lane;
  prompt: LlamaText;
  /** Texts that end the reply; they are not part of it. */
  stops: readonly (LlamaText | string)[];
  grammar?: LlamaGrammar | undefined;
  maxTokens: number;
  sampling: Sampling;
  signal: AbortSignal;
  onText?: (delta: string) => void;
}

export interface Completed {
  text: string;
  /** False: it ran into `maxTokens`. */
  finished: boolean;
  /** Tokens: read anew, found in the cache of the last request, written. */
  read: number;
  cached: number;
  written: number;
}

/** A GGUF in this process. One completion at a time. */
export class Model {
  readonly llama: Llama;
  readonly model: LlamaModel;
  readonly name: string;
  private readonly lanes: Record<Lane, LlamaContextSequence>;

  private constructor(llama: Llama, model: LlamaModel, lanes: Record<Lane, LlamaContextSequence>) {
    this.llama = llama;
    this.model = model;
    this.name = basename(model.filename ?? "model");
    this.lanes = lanes;
  }

  /** `contextSize` in tokens. Rejects with `unavailable` where llama.cpp or the file does not load, `cancelled`. */
  static async load(file: string, contextSize: number, signal: AbortSignal): Promise<Model> {
    // More threads than cores minus one cost a hundredfold on small machines, and the event loop needs one.
    const maxThreads = Math.max(1, availableParallelism() - 1);
    // llama.cpp says on stderr what went wrong, and throws only that something did.
    const why: string[] = [];
    const logger = (_level: unknown, message: string) => void (why.length < 5 && why.push(message.trim()));
    const logLevel = LlamaLogLevel.error;
    const llama = await getLlama({ gpu: false, build: "never", maxThreads, logLevel, logger, progressLogs: false });
    try {
      // A model that knows its chat format needs no more context than it was trained on.
      const model = await llama.loadModel({ modelPath: file, loadSignal: signal });
      const size = Math.min(contextSize, model.trainContextSize);
      // The whole cache, so that the unchanged beginning of a prompt is read once, also by sliding-window models.
      const options = { contextSize: size, sequences: 2, batchSize: BATCH, swaFullCache: true, createSignal: signal };
      const context = await model.createContext(options);
      return new Model(llama, model, { choice: context.getSequence(), answer: context.getSequence() });
    } catch (cause) {
      await llama.dispose();
      if (signal.aborted) throw signal.reason;
      const message = `${file} cannot be loaded by llama.cpp (${why[0] ?? (cause as Error).message}): it is damaged, cut short, or of a kind this version does not know. Fetch it again, or set opts.model to another GGUF`;
      throw new BytebotError("unavailable", message, { cause });
    }
  }

  get contextSize(): number {
    return this.lanes.answer.contextSize;
  }

  /** True where the file brings a chat template: an instruct model. */
  get instruct(): boolean {
    return this.model.fileInfo.metadata.tokenizer.chat_template !== undefined;
  }

  /** Without a leading BOS, which every prompt gets where the model wants one. */
  tokens(text: LlamaText | string): Token[] {
    const tokens = LlamaText(text).tokenize(this.model.tokenizer);
    return this.leading.length > 0 && tokens[0] === this.leading[0] ? tokens.slice(1) : tokens;
  }

  private get leading(): Token[] {
    const { bos, shouldPrependBosToken } = this.model.tokens;
    return bos !== null && shouldPrependBosToken ? [bos] : [];
  }

  /** Streams one completion. The caller has made sure that prompt and reply fit. Rejects with `signal.reason`. */
  async complete({
    lane,
    prompt,
    stops,
    grammar,
    maxTokens,
    sampling,
    signal,
    onText,
  }: Completion): Promise<Completed> {
    const tokens = this.tokens(prompt);
    const sequence = this.lanes[lane];
    const before = sequence.tokenMeter.getState();
    await this.read(sequence, tokens, signal);
    const completion = new LlamaCompletion({ contextSequence: sequence });
    const { response, metadata } = await completion.generateCompletionWithMeta(tokens, {
      customStopTriggers: [...stops],
      maxTokens,
      temperature: sampling.temperature,
      repeatPenalty: penalties(sampling),
      signal,
      disableContextShift: true,
      contextShiftSize: 1, // else a tenth of the context is held back for shifting, and the prompt cut to fit
      ...(sampling.topP === undefined ? {} : { topP: sampling.topP }),
      ...(sampling.topK === undefined ? {} : { topK: sampling.topK }),
      ...(sampling.seed === undefined ? {} : { seed: sampling.seed }),
      ...(grammar ? { grammar } : {}),
      ...(onText ? { onTextChunk: onText } : {}),
    });
    const { usedInputTokens: read, usedOutputTokens: written } = sequence.tokenMeter.diff(before);
    const cached = Math.max(0, tokens.length - read);
    return { text: response, finished: metadata.stopReason !== "maxTokens", read, cached, written };
  }

  /** Frees the memory. What still runs must have ended. */
  async close(): Promise<void> {
    await this.llama.dispose();
  }

  /** Evaluates the prompt in small steps: llama.cpp cannot be stopped inside one. */
  private async read(sequence: LlamaContextSequence, tokens: readonly Token[], signal: AbortSignal): Promise<void> {
    const whole = [...this.leading, ...tokens];
    signal.throwIfAborted();
    await sequence.adaptStateToTokens(whole.slice(0, -1), false);
    for (let at = sequence.nextTokenIndex; at < whole.length - 1; at = sequence.nextTokenIndex) {
      signal.throwIfAborted();
      await sequence.evaluateWithoutGeneratingNewTokens(whole.slice(at, Math.min(at + BATCH, whole.length - 1)));
    }
  }
}

function penalties({ repeatPenalty: penalty, presencePenalty = 0, frequencyPenalty = 0 }: Sampling) {
  if (penalty === 1 && presencePenalty === 0 && frequencyPenalty === 0) return false;
  return { penalty, presencePenalty, frequencyPenalty };
}
