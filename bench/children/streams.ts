/** Holds idle streams, of a plain server or of a Hub; answers each line on stdin with what this process takes. */
import { createServer } from "node:http";
import { ByteBot } from "bytebot";
import { readLines } from "../lines.ts";
import { STREAM_TOKEN, type Taken } from "../streams.ts";
import { listen, tell } from "./serving.ts";

const taken = (): Taken => {
  globalThis.gc?.();
  const { user, system } = process.cpuUsage();
  return { rss: process.memoryUsage.rss(), cpu_us: user + system };
};
readLines<object>(process.stdin, () => process.stdout.write(JSON.stringify(taken()) + "\n"));

if (process.argv[2] === "plain") {
  const server = createServer({ noDelay: true }, (request, response) => {
    request.resume();
    response.writeHead(200, { "content-type": "application/x-ndjson", "cache-control": "no-cache, no-transform" });
    response.flushHeaders();
  });
  await listen(server);
} else {
  const hub = new ByteBot();
  await hub.start();
  hub.addToken({ name: "", kind: "ui" }, STREAM_TOKEN);
  tell(await hub.serveHttp({ connections: Number(process.argv[3]) }));
  process.stdin.once("end", () => void hub.stop());
}
