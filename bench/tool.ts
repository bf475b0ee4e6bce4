/** Tool round trip: a call to a tool in another process, one after the other and 100 in flight. */
import { Client as ClientV2 } from "@modelcontextprotocol/client";
import { StdioClientTransport as StdioV2 } from "@modelcontextprotocol/client/stdio";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as StdioV1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { childPath, readLines, startChild, writeLines } from "./lines.ts";
import type { Measure } from "./measure.ts";
import { toolThroughHub } from "./ours.ts";
import { CALLS, callWork, type Figure } from "./work.ts";

async function echo(signal: AbortSignal): Promise<Figure> {
  await using child = startChild("lines-echo.ts", signal);
  const waiting = new Map<number, (text: string) => void>();
  readLines<{ in_reply_to: number; content: [{ text: string }] }>(child.stdout, ({ in_reply_to, content }) => {
    waiting.get(in_reply_to)?.(content[0].text);
    waiting.delete(in_reply_to);
  });
  const send = writeLines(child.stdin);
  let id = 0;
  const work = callWork(
    (text) =>
      new Promise((resolve) => {
        waiting.set(++id, resolve);
        send({ id, name: "echo", input: { text } });
      }),
  );
  return await Promise.race([work, child.gone]);
}

/**
 * The part both major versions share. The deadline closes the client, which rejects its calls: a signal on each call
 * slows the v1 SDK several times over, because it keeps a listener for each.
 */
export async function mcp(client: ClientV1 | ClientV2, signal: AbortSignal, calls = CALLS): Promise<Figure> {
  const close = () => void client.close();
  signal.addEventListener("abort", close);
  try {
    const call = async (text: string) => {
      const { content } = await client.callTool({ name: "echo", arguments: { text } });
      return (content as [{ text: string }])[0].text;
    };
    return await callWork(call, undefined, calls);
  } finally {
    signal.removeEventListener("abort", close);
    await client.close();
  }
}

const server = (name: string) => ({ command: process.execPath, args: [childPath(name)] });
const about = { name: "bench", version: "1.0.0" };

export async function mcpV1(signal: AbortSignal, calls = CALLS): Promise<Figure> {
  const client = new ClientV1(about);
  await client.connect(new StdioV1(server("mcp-v1.ts")), { signal });
  return await mcp(client, signal, calls);
}

async function mcpV2(signal: AbortSignal): Promise<Figure> {
  const client = new ClientV2(about);
  await client.connect(new StdioV2(server("mcp-v2.ts")), { signal });
  return await mcp(client, signal);
}

export const tool: Measure = {
  title: "Tool round trip over stdio",
  columns: [
    { key: "p50_us", title: "p50", unit: "µs" },
    { key: "p99_us", title: "p99", unit: "µs" },
    { key: "calls_per_s", title: "calls/s, 100 in flight", unit: "" },
    { key: "cpu_us", title: "CPU a call", unit: "µs" },
  ],
  contenders: [
    { name: "JSON lines echo, one hop", role: "floor", measure: echo },
    {
      name: "MCP SDK v1, one hop",
      role: "peer",
      goals: { p50_us: "≤ 1×", calls_per_s: "≥ 3×" },
      measure: (signal) => mcpV1(signal),
    },
    { name: "MCP SDK v2, one hop", role: "peer", measure: mcpV2 },
    { name: "ByteBot, ui → Hub → toolsource", role: "ours", measure: (signal) => toolThroughHub(signal) },
  ],
};
