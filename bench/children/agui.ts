/** Peer of the chunk relay over HTTP: an AG-UI agent's endpoint that answers a run with messages, a delta an event. */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { setImmediate } from "node:timers/promises";
import { EventType, type BaseEvent, type RunAgentInput } from "@ag-ui/core";
import { EventEncoder } from "@ag-ui/encoder";
import { BATCH, BLOCK, CHUNKS, DELTA } from "../work.ts";
import { listen } from "./serving.ts";

async function run({ threadId, runId }: RunAgentInput, accept: string, response: ServerResponse): Promise<void> {
  const encoder = new EventEncoder({ accept });
  const write = (event: BaseEvent) => response.write(encoder.encodeSSE(event));
  response.writeHead(200, { "content-type": encoder.getContentType() });
  write({ type: EventType.RUN_STARTED, threadId, runId } as BaseEvent);
  for (let n = 0; n < CHUNKS; n += BATCH) {
    const messageId = `m_${runId}_${Math.floor(n / BLOCK)}`;
    if (n % BLOCK === 0) write({ type: EventType.TEXT_MESSAGE_START, messageId, role: "assistant" } as BaseEvent);
    let taken = true;
    for (let i = 0; i < BATCH; i++)
      taken = write({ type: EventType.TEXT_MESSAGE_CONTENT, messageId, delta: DELTA } as BaseEvent);
    if ((n + BATCH) % BLOCK === 0) write({ type: EventType.TEXT_MESSAGE_END, messageId } as BaseEvent);
    if (!taken) await once(response, "drain");
    await setImmediate();
  }
  write({ type: EventType.RUN_FINISHED, threadId, runId } as BaseEvent);
  response.end();
}

await listen(
  createServer({ noDelay: true }, (request, response) => {
    let body = "";
    request.setEncoding("utf8");
    request.on("data", (part: string) => (body += part));
    request.on("end", () => void run(JSON.parse(body) as RunAgentInput, request.headers.accept ?? "", response));
  }),
);
