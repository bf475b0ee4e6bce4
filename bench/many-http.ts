/** 20,000 events a second over 1,000 scopes, to ten UIs that dial in over HTTP. */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { ByteBot } from "bytebot";
import { childPath, readLines, startChild, writeLines } from "./lines.ts";
import { ask, many, slowest } from "./many.ts";
import type { Measure } from "./measure.ts";
import { QUOTAS } from "./ours.ts";
import { dialIns } from "./ours-http.ts";
import { RATE, STREAMS, streamOf } from "./pace.ts";
import { openReport } from "./report.ts";
import { type Figure, micros } from "./work.ts";

async function throughHub(signal: AbortSignal): Promise<Figure> {
  let cpu = process.cpuUsage();
  const begin = () => (cpu = process.cpuUsage());
  await using open = new AsyncDisposableStack();
  const reports = await Promise.all(Array.from({ length: STREAMS }, () => openReport(begin, signal)));
  for (const report of reports) open.use(report);
  const hub = open.use(new ByteBot({ quotas: QUOTAS }));
  hub.attachInfer({ ref: childPath("many-infer") }, { primary: true });
  await hub.start();
  const opts = reports.map(({ port }, stream) => ({ report: port, scope: `u_${stream}` }));
  for (const child of await dialIns(hub, "many-ui", opts, signal)) open.use(child);
  await ask(hub);
  return slowest(await Promise.all(reports.map(({ figure }) => figure)), micros(cpu));
}

/** Parsed, routed by scope, written again: no check, no log, no order to keep. */
async function withoutHub(signal: AbortSignal): Promise<Figure> {
  await using open = new AsyncDisposableStack();
  const outputs: ServerResponse[] = [];
  const all = Promise.withResolvers<void>();
  const server = createServer({ noDelay: true }, (_request, response) => {
    response.flushHeaders();
    if (outputs.push(response) === STREAMS) all.resolve();
  });
  open.defer(() => {
    server.close();
    server.closeAllConnections();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const readers = Array.from({ length: STREAMS }, () => open.use(startChild("http-reader.ts", signal, url)));
  const figures = readers.map(({ stdout, gone }) => {
    const figure = new Promise<Figure>((resolve) => readLines<Figure>(stdout, resolve));
    return Promise.race([figure, gone]);
  });
  await Promise.race([all.promise, ...readers.map(({ gone }) => gone)]);
  const writer = open.use(startChild("lines-many.ts", signal));
  const sends = outputs.map((output) => writeLines(output));
  let cpu = process.cpuUsage();
  let passed = 0;
  readLines<{ scope: string }>(writer.stdout, (event) => {
    if (++passed === RATE) cpu = process.cpuUsage();
    sends[streamOf(event.scope)]!(event);
  });
  writer.stdin.write("go\n");
  return slowest(await Promise.all(figures), micros(cpu));
}

export const manyHttp: Measure = {
  ...many,
  title: "20,000 events/s over 1,000 scopes on 10 streams, to uis over HTTP",
  rounds: 2,
  contenders: [
    { name: "JSON lines relayed without checks", role: "floor", measure: withoutHub },
    {
      name: "ByteBot, infer → Hub → 10 uis",
      role: "ours",
      goals: { p99_us: "≤ 6,000", core_percent: "≤ 30" },
      measure: throughHub,
    },
  ],
};
