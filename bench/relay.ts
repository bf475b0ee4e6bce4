/** Chunk relay: how fast a stream of small text chunks gets from one process to another. */
import { performance } from "node:perf_hooks";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";
import { readLines, startChild } from "./lines.ts";
import type { Measure } from "./measure.ts";
import { relayThroughHub } from "./ours.ts";
import { CHUNKS, chunkEvent, type Figure, micros, relayWork } from "./work.ts";

function parseAndStringify(): Promise<Figure> {
  const line = JSON.stringify(chunkEvent(1));
  const repeat = (times: number) => {
    let bytes = 0;
    for (let i = 0; i < times; i++) bytes += JSON.stringify(JSON.parse(line)).length;
    return bytes; // used, so that the loop cannot be left out
  };
  repeat(20_000);
  const cpu = process.cpuUsage();
  const started = performance.now();
  const times = repeat(200_000) / line.length;
  const seconds = (performance.now() - started) / 1e3;
  return Promise.resolve({ events_per_s: times / seconds, cpu_us: micros(cpu) / times });
}

async function pipe(signal: AbortSignal): Promise<Figure> {
  await using child = startChild("lines-chunks.ts", signal);
  let receive: (delta: string) => void;
  readLines<{ delta: string }>(child.stdout, ({ delta }) => receive(delta));
  const work = relayWork((turn, chunk) => {
    let left = CHUNKS;
    const last = new Promise<void>((resolve) => {
      receive = (delta) => {
        chunk(delta);
        if (--left === 0) resolve();
      };
    });
    child.stdin.write(`{"turn":${turn}}\n`);
    return Promise.race([last, child.gone]);
  });
  return await work;
}

async function acpSdk(signal: AbortSignal): Promise<Figure> {
  await using child = startChild("acp-agent.ts", signal);
  let receive: (delta: string) => void;
  const stream = acp.ndJsonStream(
    Writable.toWeb(child.stdin),
    Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>,
  );
  const client = acp
    .client({ name: "bench" })
    .onNotification(acp.methods.client.session.update, ({ params: { update } }) => {
      if (update.sessionUpdate === "agent_message_chunk" && update.content.type === "text")
        receive(update.content.text);
    });
  return await client.connectWith(stream, async (agent) => {
    await agent.request(acp.methods.agent.initialize, {
      protocolVersion: acp.PROTOCOL_VERSION,
      clientCapabilities: {},
    });
    const { sessionId } = await agent.request(acp.methods.agent.session.new, { cwd: process.cwd(), mcpServers: [] });
    return relayWork(async (_turn, chunk) => {
      receive = chunk;
      await agent.request(acp.methods.agent.session.prompt, { sessionId, prompt: [{ type: "text", text: "go" }] });
    });
  });
}

export const relay: Measure = {
  title: "Chunk relay over stdio",
  columns: [
    { key: "events_per_s", title: "chunks/s", unit: "" },
    { key: "cpu_us", title: "CPU a chunk", unit: "µs" },
  ],
  contenders: [
    { name: "parse + stringify", role: "floor", goals: { cpu_us: "≤ 2×" }, measure: parseAndStringify },
    { name: "JSON lines, one hop", role: "floor", goals: { events_per_s: "≥ 0.5×" }, measure: pipe },
    { name: "ACP SDK session/update, one hop", role: "peer", goals: { events_per_s: "≥ 3×" }, measure: acpSdk },
    { name: "ByteBot, infer → Hub → ui", role: "ours", measure: relayThroughHub },
  ],
};
