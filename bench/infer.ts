/** bb-infer's way to a server: what it adds to the provider package alone, and to the bytes themselves. */
import { startServer } from "./http.ts";
import { readLines, startChild } from "./lines.ts";
import type { Column, Contender, Measure } from "./measure.ts";
import type { Figure } from "./work.ts";

/** How a reply is read, and in which vendor's format it comes. */
export type Way = "bytes" | "package" | "ours";
export type Form = "chat" | "messages";

const through = (way: Way, form: Form) => async (signal: AbortSignal) => {
  await using server = await startServer("model-server.ts", signal);
  await using child = startChild("model-reader.ts", signal, "--expose-gc", way, form, server.url);
  const told = new Promise<Figure>((resolve) => readLines<Figure>(child.stdout, resolve));
  return await Promise.race([told, child.gone, server.gone]);
};

const contenders = (form: Form, npm: string): Contender[] => [
  { name: "fetch, a plain copy of the bytes", role: "floor", measure: through("bytes", form) },
  {
    name: `${npm} alone`,
    role: "peer",
    goals: { request_us: "≤ 1,000", chunk_us: "≤ 1.3×", chunk_cpu_us: "≤ 1.3×", grown_mib: "≤ 32" },
    measure: through("package", form),
  },
  { name: "bb-infer", role: "ours", measure: through("ours", form) },
];

const columns: Column[] = [
  { key: "request_us", title: "a reply of one chunk, p50", unit: "µs", compare: "difference" },
  { key: "chunk_us", title: "a chunk, of 10,000", unit: "µs" },
  { key: "chunk_cpu_us", title: "CPU of that", unit: "µs" },
  { key: "million_s", title: "a million chunks", unit: "s" },
  { key: "grown_mib", title: "RSS grown by them", unit: "MiB", compare: "difference" },
];

export const inferChat: Measure = {
  title: "A streamed reply, OpenAI-style chat completions",
  columns,
  contenders: contenders("chat", "@ai-sdk/openai-compatible"),
  rounds: 3,
};

export const inferMessages: Measure = {
  title: "A streamed reply, Anthropic-style messages",
  columns,
  contenders: contenders("messages", "@ai-sdk/anthropic"),
  rounds: 3,
};
