/** Peer of the chunk relay over HTTP: the AI SDK's streamText with a model that answers at once, as a UI message stream. */
import { createServer } from "node:http";
import { setImmediate } from "node:timers/promises";
import { streamText } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { BATCH, BLOCK, CHUNKS, DELTA } from "../work.ts";
import { listen } from "./serving.ts";

type Stream = Awaited<ReturnType<MockLanguageModelV4["doStream"]>>["stream"];
type Part = Stream extends ReadableStream<infer P> ? P : never;

function answer(): Stream {
  let sent = 0;
  return new ReadableStream<Part>({
    start(controller) {
      controller.enqueue({ type: "stream-start", warnings: [] });
    },
    async pull(controller) {
      const id = String(Math.floor(sent / BLOCK));
      if (sent % BLOCK === 0) controller.enqueue({ type: "text-start", id });
      for (let i = 0; i < BATCH; i++) controller.enqueue({ type: "text-delta", id, delta: DELTA });
      sent += BATCH;
      if (sent % BLOCK === 0) controller.enqueue({ type: "text-end", id });
      await setImmediate();
      if (sent < CHUNKS) return;
      controller.enqueue({
        type: "finish",
        finishReason: { unified: "stop", raw: undefined },
        usage: {
          inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
          outputTokens: { total: CHUNKS, text: CHUNKS, reasoning: undefined },
        },
      });
      controller.close();
    },
  });
}

const model = new MockLanguageModelV4({ doStream: () => Promise.resolve({ stream: answer() }) });

await listen(
  createServer({ noDelay: true }, (request, response) => {
    request.resume();
    void streamText({ model, prompt: "go" }).pipeUIMessageStreamToResponse(response);
  }),
);
