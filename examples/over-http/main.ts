/**
 * One app over three HTTP connections: the Hub dials a toolsource that serves, an infer dials the Hub, and a phone dials in
 * with nothing but fetch. Each could be on another machine; here they share one, so that this runs anywhere.
 */
import assert from "node:assert/strict";
import { ByteBot } from "bytebot";
import * as bb from "bytebot/sdk";
import { z } from "zod";

/** A satellite on another machine: it serves, and the Hub dials. There: bb.serveHttp(tools, { host, port }), BYTEBOT_TOKEN. */
async function tools() {
  const satellite = await bb.sync({ kind: "toolsource", name: "tides" });
  const input = z.object({ harbour: z.string() });
  const run = ({ harbour }: { harbour: string }) => `High water in ${harbour} is at 14:05.`;
  satellite.tool(bb.defineTool({ name: "tide", description: "The next high water.", input, run }));
  await satellite.start();
}

/** A satellite behind a firewall: it dials the Hub. A script, so that this runs anywhere. */
async function infer() {
  const satellite = await bb.sync({ kind: "infer", name: "script" });
  satellite.onInfer(async ({ round, messages }, reply) => {
    if (round === 0) reply.block({ type: "tool_use", name: "tide", input: { harbour: "Husum" } });
    else reply.text(/High water[^"]*/.exec(JSON.stringify(messages.at(-1)?.content))?.[0] ?? "I do not know.");
    return { stop_reason: round === 0 ? "tool_use" : "end_turn" };
  });
  await satellite.start();
}

/** A phone: no SDK. It says bb_sync, gets its stream, and posts what its person says. */
async function phone(hub: string, token: string, text: string): Promise<string> {
  const headers: Record<string, string> = {
    authorization: `Bearer ${token}`,
    "content-type": "application/x-ndjson",
  };
  const post = (event: object) => fetch(`${hub}/inbox`, { method: "POST", headers, body: JSON.stringify(event) });
  const synced = await post({ event_type: "bb_sync", kind: "ui" });
  headers["bytebot-connection"] = synced.headers.get("bytebot-connection") ?? "";
  const stream = await fetch(`${hub}/stream`, { headers });
  await post({ event_type: "user_event", id: "m_1", type: "message", scope: "u_7f3a", text });
  let answer = "";
  for await (const event of linesOf(stream)) {
    if (event.block_type === "text" && typeof event.delta === "string") answer += event.delta;
    if (event.state === "idle") break;
  }
  await fetch(`${hub}/stream`, { method: "DELETE", headers });
  return answer;
}

async function* linesOf(stream: Response): AsyncGenerator<Record<string, unknown>> {
  let rest = "";
  for await (const text of stream.body!.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop()!;
    for (const line of lines) if (line !== "") yield JSON.parse(line) as Record<string, unknown>;
  }
}

await using serving = await bb.serveHttp(tools);
await using hub = new ByteBot({ policy: [{ tool: "tides/*", decision: "allow" }] }); // what a URL brings asks first, else
hub.attach({ ref: serving.url, kind: "toolsource", name: "tides" });
await hub.start();

const url = await hub.serveHttp();
const stop = new AbortController();
const joined = hub.events("*", { types: ["bb_sync_ack"] });
const dialled = bb.dialHttp(infer, {
  url,
  token: hub.addToken({ name: "script", kind: "infer" }),
  signal: stop.signal,
});
await joined.next();

const token = hub.addToken({ name: "phone", kind: "ui", scopes: ["u_7f3a"] });
const answer = await phone(url, token, "When is high water in Husum?");
assert.equal(answer, "High water in Husum is at 14:05.");
assert.equal((await fetch(`${url}/stream`)).status, 401); // without the token nothing
console.log(`the phone reads: ${answer}`);
stop.abort();
await dialled;
