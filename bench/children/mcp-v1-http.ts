/** Peer of the tool round trip over HTTP: the echo tool on the MCP SDK v1, one session a client. */
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { z } from "zod";
import { listen } from "./serving.ts";

const server = new McpServer({ name: "bench", version: "1.0.0" });
server.registerTool("echo", { description: "Says it again", inputSchema: { text: z.string() } }, ({ text }) => ({
  content: [{ type: "text", text }],
}));
const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID });
await server.connect(transport);
await listen(createServer({ noDelay: true }, (request, response) => void transport.handleRequest(request, response)));
