/** Reads replies of children/model-server.ts in one of three ways, and tells what that takes. */
import { performance } from "node:perf_hooks";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { openRemote } from "bb-infer";
import type { InferReply, InferRequestEvent } from "bytebot/sdk";
import type { Form, Way } from "../infer.ts";
import { DELTA, type Figure, micros, percentiles } from "../work.ts";

const REQUESTS = 300;
const REPLIES = 8;
const CHUNKS = 10_000;
const MILLION = 1_000_000;

const [way, form, url] = process.argv.slice(2) as [Way, Form, string];
const baseURL = `${url}/v1`;

/** Characters of text in the reply; of bytes how many. */
type Read = (chunks: number) => Promise<number>;

const ways: Record<Way, () => Promise<Read>> = {
  bytes: () =>
    Promise.resolve(async (chunks) => {
      const path = form === "messages" ? "messages" : "chat/completions";
      const body = JSON.stringify({ model: String(chunks), stream: true, messages: [{ role: "user", content: "go" }] });
      const response = await fetch(`${baseURL}/${path}`, { method: "POST", body });
      let size = 0;
      for await (const bytes of response.body!) size += Buffer.from(bytes).length;
      return size;
    }),

  package: () => {
    const provider =
      form === "messages"
        ? createAnthropic({ baseURL, apiKey: "none" })
        : createOpenAICompatible({ baseURL, name: "server", includeUsage: true });
    return Promise.resolve(async (chunks) => {
      const prompt = [{ role: "user" as const, content: [{ type: "text" as const, text: "go" }] }];
      const { stream } = await provider.languageModel(String(chunks)).doStream({ prompt });
      let size = 0;
      for await (const part of stream) if (part.type === "text-delta") size += part.delta.length;
      return size;
    });
  },

  ours: async () => {
    const provider = form === "messages" ? "anthropic" : "openai-compatible";
    const model = await openRemote({ provider, baseUrl: baseURL, model: "0", env: {} });
    return async (chunks) => {
      let size = 0;
      const request: InferRequestEvent = {
        event_type: "bb_infer_request",
        ...{ id: "i_1", loop_id: "l_1", scope: "u", stream: true, round: 0, attempt: 0 },
        model: String(chunks),
        messages: [{ role: "user", content: [{ type: "text", text: "go" }] }],
      };
      const reply = { text: (delta: string) => void (size += delta.length) } as InferReply;
      const { signal } = new AbortController();
      await model.infer(request, reply, { signal, drained: () => Promise.resolve() });
      return size;
    };
  },
};

const read = await ways[way]();

async function whole(chunks: number): Promise<void> {
  const size = await read(chunks);
  const least = chunks * DELTA.length;
  if (way === "bytes" ? size < least : size !== least) throw new Error(`${way}: ${size} of ${least} characters came`);
}

async function requests(): Promise<number> {
  const times: number[] = [];
  for (let n = 0; n < REQUESTS; n++) {
    const started = performance.now();
    await whole(1);
    times.push((performance.now() - started) * 1e3);
  }
  return percentiles(times).p50_us;
}

async function chunks(): Promise<Pick<Figure, "chunk_us" | "chunk_cpu_us">> {
  const cpu = process.cpuUsage();
  const started = performance.now();
  for (let n = 0; n < REPLIES; n++) await whole(CHUNKS);
  const count = REPLIES * CHUNKS;
  return { chunk_us: ((performance.now() - started) * 1e3) / count, chunk_cpu_us: micros(cpu) / count };
}

/** By how much the process grew at most while a reply of a million chunks came. */
async function million(): Promise<Pick<Figure, "million_s" | "grown_mib">> {
  globalThis.gc?.();
  const before = process.memoryUsage.rss();
  let most = before;
  const watch = setInterval(() => (most = Math.max(most, process.memoryUsage.rss())), 20);
  const started = performance.now();
  await whole(MILLION);
  clearInterval(watch);
  return { million_s: (performance.now() - started) / 1e3, grown_mib: (most - before) / 1024 / 1024 };
}

await requests();
const request_us = await requests();
await chunks();
const figure: Figure = { request_us, ...(await chunks()), ...(await million()) };
process.stdout.write(JSON.stringify(figure) + "\n");
