/** 20,000 events a second over 1,000 scopes on 10 streams: how late they come, and what they take of a core. */
import type { ByteBot } from "bytebot";
import { childPath, readLines, startChild, writeLines } from "./lines.ts";
import { withHub, type Kept } from "./logs.ts";
import type { Measure } from "./measure.ts";
import { QUOTAS } from "./ours.ts";
import { MEASURED_EVENTS, RATE, scopeOf, SCOPES, STREAMS, streamOf } from "./pace.ts";
import { openReport } from "./report.ts";
import { type Figure, micros } from "./work.ts";

const streams = Array.from({ length: STREAMS }, (_, number) => number);

/** The slowest stream counts. `cpu`: µs of this process for the measured events. */
export function slowest(figures: Figure[], cpu: number): Figure {
  const worst = (key: string) => Math.max(...figures.map((figure) => figure[key] ?? NaN));
  const core = cpu / 1e6 / (MEASURED_EVENTS / RATE);
  return { p50_us: worst("p50_us"), p99_us: worst("p99_us"), core_percent: core * 100 };
}

async function throughHub(signal: AbortSignal, kept: Kept = "memory"): Promise<Figure> {
  let cpu = process.cpuUsage();
  const begin = () => (cpu = process.cpuUsage());
  await using open = new AsyncDisposableStack();
  const reports = await Promise.all(streams.map(() => openReport(begin, signal)));
  for (const report of reports) open.use(report);
  return await withHub(kept, { quotas: QUOTAS }, async (hub) => {
    hub.attachInfer({ ref: childPath("many-infer") }, { primary: true });
    for (const [stream, { port }] of reports.entries())
      hub.attach({ ref: childPath("many-ui"), name: `ui-${stream}`, opts: { report: port, scope: `u_${stream}` } });
    await hub.start();
    await ask(hub);
    return slowest(await Promise.all(reports.map(({ figure }) => figure)), micros(cpu));
  });
}

/** A question in each conversation. */
export async function ask(hub: ByteBot): Promise<void> {
  await Promise.all(Array.from({ length: SCOPES }, (_, number) => hub.send(scopeOf(number), "go")));
}

/** Parsed, routed by scope, written again: no check, no log, no order to keep. */
async function withoutHub(signal: AbortSignal): Promise<Figure> {
  await using open = new AsyncDisposableStack();
  const readers = streams.map(() => open.use(startChild("lines-reader.ts", signal)));
  const figures = readers.map(({ stdout, gone }) => {
    const figure = new Promise<Figure>((resolve) => readLines<Figure>(stdout, resolve));
    return Promise.race([figure, gone]);
  });
  const writer = open.use(startChild("lines-many.ts", signal));
  const outputs = readers.map(({ stdin }) => writeLines(stdin));
  let cpu = process.cpuUsage();
  let passed = 0;
  readLines<{ scope: string }>(writer.stdout, (event) => {
    if (++passed === RATE) cpu = process.cpuUsage();
    outputs[streamOf(event.scope)]!(event);
  });
  writer.stdin.write("go\n");
  return slowest(await Promise.all(figures), micros(cpu));
}

export const many: Measure = {
  title: "20,000 events/s over 1,000 scopes on 10 streams, stdio",
  columns: [
    { key: "p50_us", title: "p50", unit: "µs" },
    { key: "p99_us", title: "p99", unit: "µs" },
    { key: "core_percent", title: "of a core", unit: "%" },
  ],
  contenders: [
    { name: "JSON lines relayed without checks", role: "floor", measure: withoutHub },
    {
      name: "ByteBot, infer → Hub → 10 uis",
      role: "ours",
      goals: { p99_us: "≤ 6,000", core_percent: "≤ 30" },
      measure: (signal) => throughHub(signal),
    },
  ],
  rounds: 3,
};

/** Chunks are not logged, but the blocks they end are: the log is not in their way. */
export const manyDurable: Measure = {
  title: "20,000 events/s over 1,000 scopes on 10 streams, stdio, log on disk",
  columns: many.columns,
  contenders: [
    { name: "log in memory", role: "floor", goals: { p99_us: "≤ 1.5×" }, measure: (signal) => throughHub(signal) },
    { name: "ByteBot, log on disk, FULL", role: "ours", measure: (signal) => throughHub(signal, "full") },
  ],
  rounds: 3,
};
