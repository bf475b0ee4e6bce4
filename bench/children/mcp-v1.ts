/** Peer of the tool round trip: the echo tool on the MCP SDK v1. */
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { z } from "zod";

const server = new McpServer({ name: "bench", version: "1.0.0" });
server.registerTool("echo", { description: "Says it again", inputSchema: { text: z.string() } }, ({ text }) => ({
  content: [{ type: "text", text }],
}));
await server.connect(new StdioServerTransport());
