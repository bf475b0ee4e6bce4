/** Peer of the tool round trip over HTTP: the echo tool on the MCP SDK v2, a server a request, as its guide has it. */
import { createServer, type RequestListener } from "node:http";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";
import { listen } from "./serving.ts";

const handler = createMcpHandler(() => {
  const server = new McpServer({ name: "bench", version: "1.0.0" });
  server.registerTool(
    "echo",
    { description: "Says it again", inputSchema: z.object({ text: z.string() }) },
    ({ text }) => ({ content: [{ type: "text", text }] }),
  );
  return server;
});
const handle = toNodeHandler(handler) as RequestListener; // its own type of a request has no optional method
await listen(createServer({ noDelay: true }, handle));
