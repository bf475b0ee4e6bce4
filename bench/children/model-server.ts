/** A server that streams as many small chunks as its model's name says, as a vendor would; what is behind is waited for. */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { Form } from "../infer.ts";
import { BATCH, DELTA } from "../work.ts";
import { listen } from "./serving.ts";

interface Playing {
  begin: string;
  chunk: string;
  end: (chunks: number) => string;
}

const data = (value: object) => `data: ${JSON.stringify(value)}\n\n`;
const event = (value: { type: string }) => `event: ${value.type}\n${data(value)}`;
const choice = (delta: object, finish_reason: string | null = null) =>
  data({ id: "c_1", object: "chat.completion.chunk", model: "m", choices: [{ index: 0, delta, finish_reason }] });

const forms: Record<Form, Playing> = {
  chat: {
    begin: choice({ role: "assistant", content: "" }),
    chunk: choice({ content: DELTA }),
    end: (completion_tokens) =>
      choice({}, "stop") +
      data({
        id: "c_1",
        choices: [],
        usage: { prompt_tokens: 9, completion_tokens, total_tokens: 9 + completion_tokens },
      }) +
      "data: [DONE]\n\n",
  },
  messages: {
    begin:
      event({
        type: "message_start",
        message: {
          id: "m_1",
          type: "message",
          role: "assistant",
          model: "m",
          content: [],
          usage: { input_tokens: 9, output_tokens: 0 },
        },
      } as { type: string }) +
      event({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } } as { type: string }),
    chunk: event({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: DELTA } } as {
      type: string;
    }),
    end: (output_tokens) =>
      event({ type: "content_block_stop", index: 0 } as { type: string }) +
      event({
        type: "message_delta",
        delta: { stop_reason: "end_turn", stop_sequence: null },
        usage: { output_tokens },
      } as { type: string }) +
      event({ type: "message_stop" }),
  },
};

async function play(response: ServerResponse, { begin, chunk, end }: Playing, chunks: number): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(begin);
  const batch = chunk.repeat(BATCH);
  for (let left = chunks; left > 0; left -= BATCH) {
    const room = response.write(left >= BATCH ? batch : chunk.repeat(left));
    if (!room && !response.destroyed) await once(response, "drain");
  }
  response.end(end(chunks));
}

await listen(
  createServer({ noDelay: true }, (request, response) => {
    let text = "";
    request.setEncoding("utf8").on("data", (part: string) => (text += part));
    request.on("end", () => {
      const { model } = JSON.parse(text) as { model: string };
      const form = request.url?.endsWith("/messages") ? "messages" : "chat";
      void play(response, forms[form], Number(model)).catch(() => response.destroy());
    });
  }),
);
