/** Peer of the chunk relay: an ACP agent that answers a prompt with a turn of session/update notifications. */
import { Readable, Writable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import * as acp from "@agentclientprotocol/sdk";
import { BATCH, CHUNKS, DELTA } from "../work.ts";

const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text: DELTA } } as const;

acp
  .agent({ name: "bench" })
  .onRequest(acp.methods.agent.initialize, () => ({ protocolVersion: acp.PROTOCOL_VERSION, agentCapabilities: {} }))
  .onRequest(acp.methods.agent.session.new, () => ({ sessionId: "s_7f3a" }))
  .onRequest(acp.methods.agent.session.prompt, async ({ client, params: { sessionId } }) => {
    for (let n = 0; n < CHUNKS; n += BATCH) {
      for (let i = 0; i < BATCH; i++) await client.notify(acp.methods.client.session.update, { sessionId, update });
      await setImmediate();
    }
    return { stopReason: "end_turn" };
  })
  .connect(
    acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>),
  );
