/** Chunk relay to a UI over HTTP: how fast a stream of small text chunks gets to whoever reads it there. */
import { HttpAgent } from "@ag-ui/client";
import { DefaultChatTransport, type UIMessage } from "ai";
import { openClient, startServer } from "./http.ts";
import { readLines } from "./lines.ts";
import type { Measure } from "./measure.ts";
import { relayToDialIn } from "./ours-http.ts";
import { type Figure, relayWork } from "./work.ts";

/** The peers take several times as long, so they get fewer of the same turns. */
const PEER_LOAD = { turns: 2 };

async function lines(signal: AbortSignal): Promise<Figure> {
  await using server = await startServer("http-floor.ts", signal);
  using client = openClient(server.url);
  const work = relayWork(async (_turn, chunk) => {
    const response = await client.send("/");
    const ended = Promise.withResolvers<void>();
    readLines<{ delta: string }>(response, ({ delta }) => chunk(delta));
    response.once("error", ended.reject);
    response.once("end", ended.resolve);
    await ended.promise;
  });
  return await Promise.race([work, server.gone]);
}

async function agUi(signal: AbortSignal): Promise<Figure> {
  await using server = await startServer("agui.ts", signal);
  const turn = async (number: number, chunk: (delta: string) => void) => {
    const agent = new HttpAgent({ url: server.url, threadId: `t_${number}` });
    const onTextMessageContentEvent = ({ event }: { event: { delta: string } }) => chunk(event.delta);
    await agent.runAgent({}, { onTextMessageContentEvent });
  };
  return await Promise.race([relayWork(turn, undefined, PEER_LOAD), server.gone]);
}

async function aiSdk(signal: AbortSignal): Promise<Figure> {
  await using server = await startServer("ai-sdk.ts", signal);
  const transport = new DefaultChatTransport<UIMessage>({ api: server.url });
  const messages: UIMessage[] = [{ id: "m_1", role: "user", parts: [{ type: "text", text: "go" }] }];
  const turn = async (number: number, chunk: (delta: string) => void) => {
    const stream = await transport.sendMessages({
      trigger: "submit-message",
      chatId: `c_${number}`,
      messageId: undefined,
      messages,
      abortSignal: signal,
    });
    for await (const part of stream) if (part.type === "text-delta") chunk(part.delta);
  };
  return await Promise.race([relayWork(turn, undefined, PEER_LOAD), server.gone]);
}

const goals = { events_per_s: "≥ 8×" };

export const relayHttp: Measure = {
  title: "Chunk relay to a UI over HTTP",
  columns: [
    { key: "events_per_s", title: "chunks/s", unit: "" },
    { key: "cpu_us", title: "CPU a chunk", unit: "µs" },
  ],
  contenders: [
    { name: "JSON lines, one hop", role: "floor", goals: { events_per_s: "≥ 0.35×" }, measure: lines },
    { name: "AG-UI HttpAgent, one hop", role: "peer", goals, measure: agUi },
    { name: "AI SDK streamText → UI message stream, one hop", role: "peer", goals, measure: aiSdk },
    {
      name: "ByteBot, infer → Hub → ui, lines",
      role: "ours",
      goals: { cpu_us: "≤ 6" },
      measure: (signal) => relayToDialIn("ndjson", signal),
    },
    { name: "ByteBot, infer → Hub → ui, SSE", role: "also", measure: (signal) => relayToDialIn("sse", signal) },
  ],
  rounds: 2,
};
