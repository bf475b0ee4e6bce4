/** Tool round trip over HTTP: a call to a tool in another process, one after the other and 100 in flight. */
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as HttpV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { openClient, startServer } from "./http.ts";
import type { Measure } from "./measure.ts";
import { toolByApp, toolByCaller } from "./ours-http.ts";
import { mcp } from "./tool.ts";
import { callWork, type Figure, HTTP_CALLS } from "./work.ts";

async function posts(signal: AbortSignal): Promise<Figure> {
  await using server = await startServer("http-floor.ts", signal);
  using client = openClient(server.url);
  const call = async (text: string) => {
    const response = await client.send("/", JSON.stringify({ name: "echo", input: { text } }));
    let body = "";
    for await (const part of response) body += String(part);
    return (JSON.parse(body) as { content: [{ text: string }] }).content[0].text;
  };
  return await Promise.race([callWork(call, undefined, HTTP_CALLS), server.gone]);
}

const about = { name: "bench", version: "1.0.0" };

async function mcpV1(signal: AbortSignal): Promise<Figure> {
  await using server = await startServer("mcp-v1-http.ts", signal);
  const client = new ClientV1(about);
  await client.connect(new HttpV1(new URL(server.url)), { signal });
  return await mcp(client, signal, HTTP_CALLS);
}

async function mcpV2(signal: AbortSignal): Promise<Figure> {
  await using server = await startServer("mcp-v2-http.ts", signal);
  const client = new ClientV2(about);
  await client.connect(new HttpV2(new URL(server.url)), { signal });
  return await mcp(client, signal, HTTP_CALLS);
}

export const toolHttp: Measure = {
  title: "Tool round trip over HTTP",
  columns: [
    { key: "p50_us", title: "p50", unit: "µs" },
    { key: "p99_us", title: "p99", unit: "µs" },
    { key: "calls_per_s", title: "calls/s, 100 in flight", unit: "" },
    { key: "cpu_us", title: "CPU a call", unit: "µs" },
  ],
  contenders: [
    { name: "node:http POST and answer, one hop", role: "floor", measure: posts },
    { name: "MCP SDK v1, streamable HTTP, one hop", role: "peer", goals: { p50_us: "≤ 0.5×" }, measure: mcpV1 },
    { name: "MCP SDK v2, streamable HTTP, one hop", role: "peer", goals: { p50_us: "≤ 0.5×" }, measure: mcpV2 },
    { name: "ByteBot, ui → Hub → toolsource, both over HTTP", role: "ours", measure: toolByCaller },
    { name: "ByteBot, app → toolsource over HTTP, one hop", role: "also", measure: toolByApp },
  ],
  rounds: 2,
};
