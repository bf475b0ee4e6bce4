/**
 * Streams to UIs that do nothing: what each takes of memory, and all of them of a core. The young generation is kept small
 * in both servers, as how far it grew while the streams were opened is no cost of a stream.
 */
import { once } from "node:events";
import { Agent, request, type IncomingMessage } from "node:http";
import { setTimeout } from "node:timers/promises";
import { startServer } from "./http.ts";
import type { Measure } from "./measure.ts";
import type { Figure } from "./work.ts";

const STREAMS = 5_000;
const LANES = 20; // opened at once
const IDLE_MS = 5_000;
export const STREAM_TOKEN = "a-token-of-this-bench-alone-which-guards-nothing";

/** What a process takes: bytes after a collection, and µs since its start. */
export type Taken = { rss: number; cpu_us: number };

async function streams(kind: "plain" | "hub", signal: AbortSignal): Promise<Figure> {
  await using server = await startServer(
    "streams.ts",
    signal,
    "--expose-gc",
    "--max-semi-space-size=1",
    kind,
    String(STREAMS + LANES),
  );
  const take = async () => {
    const answer = server.next<Taken>();
    server.stdin.write("{}\n");
    return await Promise.race([answer, server.gone]);
  };
  const open = kind === "plain" ? openPlain : openUi;
  const agents: Agent[] = [];
  let opened = 0;
  const lane = async () => {
    while (opened < STREAMS) {
      signal.throwIfAborted();
      const number = opened++;
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      agents.push(agent);
      await open(server.url, agent, number);
    }
  };
  try {
    const before = await take();
    await Promise.all(Array.from({ length: LANES }, lane));
    const after = await take();
    await setTimeout(IDLE_MS, undefined, { signal });
    const idle = await take();
    return {
      kib: (after.rss - before.rss) / STREAMS / 1024,
      core_percent: ((idle.cpu_us - after.cpu_us) / (IDLE_MS * 1e3)) * 100,
    };
  } finally {
    for (const agent of agents) agent.destroy();
  }
}

async function openPlain(url: string, agent: Agent): Promise<void> {
  (await answerTo(new URL("stream", url), agent)).resume();
}

/** A UI of a tenant of its own: says bb_sync, then reads its stream on the same socket. */
async function openUi(url: string, agent: Agent, number: number): Promise<void> {
  const authorization = `Bearer ${STREAM_TOKEN}`;
  const sync = {
    event_type: "bb_sync",
    kind: "ui",
    name: `ui-${number}`,
    protocol_version: 1,
    scopes: [`u_${number}`],
  };
  const headers = { authorization, "content-type": "application/x-ndjson" };
  const answer = await answerTo(new URL("inbox", url), agent, headers, JSON.stringify(sync) + "\n");
  answer.resume();
  await once(answer, "end");
  const connection = String(answer.headers["bytebot-connection"]);
  const headersOfStream = { authorization, "bytebot-connection": connection, "bytebot-received": "0" };
  (await answerTo(new URL("stream", url), agent, headersOfStream)).resume();
}

async function answerTo(url: URL, agent: Agent, headers: Record<string, string> = {}, body?: string) {
  const sent = request(url, { agent, headers, method: body === undefined ? "GET" : "POST" });
  sent.on("error", () => {}); // of a stream that ends with the measure
  sent.end(body);
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  if (response.statusCode !== 200) throw new Error(`${url.href} answered with HTTP status ${response.statusCode}`);
  response.on("error", () => {});
  return response;
}

export const idleStreams: Measure = {
  title: "5,000 UI streams over HTTP that do nothing",
  columns: [
    { key: "kib", title: "RSS a stream", unit: "KiB" },
    { key: "core_percent", title: "of a core, all of them", unit: "%" },
  ],
  contenders: [
    {
      name: "plain node:http responses",
      role: "floor",
      goals: { kib: "≤ 1.3×" },
      measure: (signal) => streams("plain", signal),
    },
    { name: "ByteBot, uis that have synced", role: "ours", measure: (signal) => streams("hub", signal) },
  ],
  rounds: 2,
};
