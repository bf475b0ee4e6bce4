/** ByteBot: the Hub in this process, between two stdio children. Every check is on; the log is the memory engine. */
import { ByteBot } from "bytebot";
import { childPath } from "./lines.ts";
import { SCOPES } from "./pace.ts";
import { openReport } from "./report.ts";
import { type Figure, IN_FLIGHT, LENGTH_CHUNKS, MEASURED, micros } from "./work.ts";

/** All of a load is one tenant's or a few, and more than a tenant may have. */
export const QUOTAS = { events: 1_000_000, calls: IN_FLIGHT, inferences: SCOPES, conversations: 1_000_000 };

/** An infer's chunks to a UI: the UI asks for the turns and keeps the clock. */
export function relayThroughHub(signal: AbortSignal): Promise<Figure> {
  return throughHub(MEASURED.relay, signal, (hub, opts) => {
    hub.attachInfer({ ref: childPath("infer") }, { primary: true });
    hub.attach({ ref: childPath("ui"), opts });
  });
}

/** A controller's calls to a toolsource: the controller keeps the clock. */
export function toolThroughHub(signal: AbortSignal): Promise<Figure> {
  return throughHub(MEASURED.tool, signal, (hub, opts) => {
    hub.attach({ ref: childPath("tools") });
    hub.attach({ ref: childPath("caller"), opts }, { controller: true });
  });
}

/** How long a turn's first chunk takes: the UI asks, one turn after the other, and keeps the clock. */
export function firstThroughHub(signal: AbortSignal): Promise<Figure> {
  return throughHub(1, signal, (hub, opts) => {
    hub.attachInfer({ ref: childPath("infer"), opts: { chunks: 1 } }, { primary: true });
    hub.attach({ ref: childPath("ui"), opts: { ...opts, first: true } });
  });
}

/** Turns of `chunks` chunks, and as many turns as make up the load. */
export function lengthThroughHub(chunks: number, signal: AbortSignal): Promise<Figure> {
  const turns = LENGTH_CHUNKS / chunks;
  return throughHub(LENGTH_CHUNKS, signal, (hub, opts) => {
    hub.attachInfer({ ref: childPath("infer"), opts: { chunks } }, { primary: true });
    hub.attach({ ref: childPath("ui"), opts: { ...opts, chunks, turns } });
  });
}

/** The figure of the child that got `opts`, with the Hub's own CPU instead of the child's, spread over `count`. */
async function throughHub(
  count: number,
  signal: AbortSignal,
  attach: (hub: ByteBot, opts: Record<string, unknown>) => void,
): Promise<Figure> {
  let cpu = process.cpuUsage();
  await using report = await openReport(() => (cpu = process.cpuUsage()), signal);
  await using hub = new ByteBot({ quotas: QUOTAS });
  attach(hub, { report: report.port });
  await hub.start();
  const figure = await report.figure;
  return { ...figure, cpu_us: micros(cpu) / count };
}
