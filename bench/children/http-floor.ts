/** Floors over HTTP: answers a POST with its own text, and a GET with a turn of chunks, a batch a write. */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { setImmediate } from "node:timers/promises";
import { BATCH, CHUNKS, chunkEvent } from "../work.ts";
import { listen } from "./serving.ts";

async function turn(response: ServerResponse): Promise<void> {
  response.writeHead(200, { "content-type": "application/x-ndjson" });
  for (let n = 0; n < CHUNKS; n += BATCH) {
    let lines = "";
    for (let i = n; i < n + BATCH; i++) lines += JSON.stringify(chunkEvent(i)) + "\n";
    if (!response.write(lines)) await once(response, "drain");
    await setImmediate();
  }
  response.end();
}

await listen(
  createServer({ noDelay: true }, (request, response) => {
    if (request.method === "GET") return void turn(response);
    let body = "";
    request.setEncoding("utf8");
    request.on("data", (part: string) => (body += part));
    request.on("end", () => {
      const { input } = JSON.parse(body) as { input: { text: string } };
      response.end(JSON.stringify({ success: true, content: [{ type: "text", text: input.text }] }) + "\n");
    });
  }),
);
