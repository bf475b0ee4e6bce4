/**
 * A million deltas of one byte, in each format, across a socket: microseconds for each, and how the memory of this process
 * moves meanwhile (the server is another). `node satellites/bb-infer/bench/deltas.ts [deltas]`
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { fileURLToPath } from "node:url";
import { openRemote } from "../src/remote/provider.ts";
import { formats, KEY, KEY_ENV, say, stop, whole, type Format } from "../test/formats/index.ts";
import { request, said } from "../test/collected.ts";

const COUNT = Number(process.argv[2] ?? 1_000_000);
const BATCH = 500;

/** Serves the format that the path's first part numbers, in writes of some hundred deltas. */
function serve(): void {
  const server = createServer((asked, response) => {
    asked.resume();
    const format = formats[Number(asked.url?.split("/")[1])]!;
    response.writeHead(200, { "content-type": format.contentType });
    void pipeline(Readable.from(reply(format)), response).catch(() => undefined);
  });
  server.listen(0, "127.0.0.1", () => process.send!((server.address() as AddressInfo).port));
  process.on("disconnect", () => process.exit());
}

function* reply(format: Format): Generator<Buffer> {
  const begin = format.events(say("x"));
  yield Buffer.concat(begin);
  const batch = Buffer.concat(Array<Buffer>(BATCH).fill(begin.at(-1)!));
  for (let sent = 1; sent < COUNT; sent += BATCH) yield batch;
  const all = whole(format, say("x"), stop("end_turn"));
  yield Buffer.concat(all.slice(begin.length));
}

async function measure(at: number, origin: string): Promise<void> {
  const format = formats[at]!;
  const { baseUrl = "", ...options } = format.options({ origin: `${origin}/${at}` });
  const provider = await openRemote({ ...options, baseUrl, keyEnv: KEY_ENV, env: { [KEY_ENV]: KEY } });
  let deltas = 0;
  let peak = 0;
  const ignored = () => undefined;
  const reply = {
    text: () => {
      deltas += 1;
      if (deltas % 10_000 === 0) peak = Math.max(peak, process.memoryUsage().rss);
    },
    thinking: ignored,
    signature: ignored,
    block: ignored,
    toolUse: () => ({ delta: ignored, end: ignored }),
  };
  const before = process.memoryUsage().rss;
  const began = performance.now();
  const { signal } = new AbortController();
  await provider.infer(request({ messages: [said("Go")] }), reply, { signal, drained: () => Promise.resolve() });
  const each = ((performance.now() - began) * 1000) / deltas;
  const mib = (bytes: number) => `${Math.round(bytes / 2 ** 20)} MiB`;
  console.log(
    `${format.name.padEnd(24)} ${deltas} deltas  ${each.toFixed(1)} µs each  ${mib(before)} before, ${mib(peak)} at most`,
  );
}

if (process.send) serve();
else {
  const child = fork(fileURLToPath(import.meta.url), process.argv.slice(2));
  const [port] = (await once(child, "message")) as [number];
  for (const at of formats.keys()) await measure(at, `http://127.0.0.1:${port}`);
  child.disconnect();
}
