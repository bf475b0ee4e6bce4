/** Answers one question with the built-in weights, directly or through bb-infer, and tells how fast. */
import { availableParallelism } from "node:os";
import { performance } from "node:perf_hooks";
import { open, choose, prepareWeights } from "bb-infer";
import type { InferReply, InferRequestEvent } from "bytebot/sdk";
import { getLlama, LlamaCompletion, LlamaLogLevel } from "node-llama-cpp";
import { base } from "../../satellites/bb-infer/src/embedded/base.ts";
import type { Way } from "../embedded.ts";
import type { Figure } from "../work.ts";

const params = { max_tokens: 128, temperature: 0, repeat_penalty: 1.1, context_size: 2_048 };
const question = (about: string) =>
  `Here is what I have read of ${about}. ${`It is said that ${about} is old and wide, and that nobody has seen all of it. `.repeat(20)} Tell me a long story about ${about}.`;

/** What came of one question: milliseconds until its first word, and to its end; tokens of the prompt and of the reply. */
interface Run {
  first: number;
  end: number;
  read: number;
  written: number;
}

type Ask = (text: string) => Promise<Run>;
type Message = InferRequestEvent["messages"][number];
const said = (text: string): Message[] => [{ role: "user", content: [{ type: "text", text }] }];

async function direct(): Promise<{ ask: Ask; close(): Promise<void> }> {
  const maxThreads = Math.max(1, availableParallelism() - 1);
  const llama = await getLlama({ gpu: false, build: "never", maxThreads, logLevel: LlamaLogLevel.disabled });
  const model = await llama.loadModel({ modelPath: await prepareWeights() });
  const context = await model.createContext({ contextSize: params.context_size });
  const sequence = context.getSequence();
  const completion = new LlamaCompletion({ contextSequence: sequence });
  const ask: Ask = async (text) => {
    const room = { limit: params.context_size, tokens: () => 0 };
    const { prompt, stops } = base.answer({ messages: said(text), tools: [] }, room);
    const before = sequence.tokenMeter.getState();
    const started = performance.now();
    let first = 0;
    await completion.generateCompletionWithMeta(prompt.tokenize(model.tokenizer), {
      customStopTriggers: [...stops],
      maxTokens: params.max_tokens,
      temperature: params.temperature,
      repeatPenalty: { penalty: params.repeat_penalty },
      onTextChunk: () => (first ||= performance.now() - started),
    });
    const { usedInputTokens: read, usedOutputTokens: written } = sequence.tokenMeter.diff(before);
    return { first, end: performance.now() - started, read, written };
  };
  return { ask, close: () => llama.dispose() };
}

async function ours(): Promise<{ ask: Ask; close(): Promise<void> }> {
  const { signal } = new AbortController();
  const provider = await open(await choose({ provider: "embedded", params }, { signal }), { signal });
  const ask: Ask = async (text) => {
    const request: InferRequestEvent = {
      event_type: "bb_infer_request",
      ...{ id: "i_1", loop_id: "l_1", scope: "u", stream: true, round: 0, attempt: 0 },
      messages: said(text),
    };
    const started = performance.now();
    let first = 0;
    const reply = { text: () => void (first ||= performance.now() - started) } as unknown as InferReply;
    const { usage } = await provider.infer(request, reply, { signal, drained: () => Promise.resolve() });
    return { first, end: performance.now() - started, read: usage!.input_tokens!, written: usage!.output_tokens! };
  };
  return { ask, close: () => provider.close() };
}

const model = await (process.argv[2] === ("direct" satisfies Way) ? direct() : ours());
await model.ask("Hello!");
const { first, end, read, written } = await model.ask(question("the sea"));
if (written < params.max_tokens / 2) throw new Error(`the reply was over after ${written} tokens: nothing to measure`);
const figure: Figure = { read_per_s: (read / first) * 1e3, written_per_s: ((written - 1) / (end - first)) * 1e3 };
process.stdout.write(JSON.stringify(figure) + "\n");
await model.close();
