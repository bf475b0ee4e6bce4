/** ByteBot: the Hub in this process, between two stdio children. Every check is on; the log is the memory engine, where nothing else is said. */
import type { ByteBot } from "bytebot";
import { childPath } from "./lines.ts";
import { withHub, type Kept } from "./logs.ts";
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
export function toolThroughHub(
  signal: AbortSignal,
  kept: Kept = "memory",
  load: { http?: true } = {},
): Promise<Figure> {
  const attach = (hub: ByteBot, opts: Record<string, unknown>) => {
    hub.attach({ ref: childPath("tools") });
    hub.attach({ ref: childPath("caller"), opts: { ...opts, ...load } }, { controller: true });
  };
  return throughHub(load.http ? MEASURED.httpTool : MEASURED.tool, signal, attach, kept);
}

/** How long a turn's first chunk takes: the UI asks, one turn after the other, and keeps the clock. */
export function firstThroughHub(signal: AbortSignal, kept?: Kept): Promise<Figure> {
  const attach = (hub: ByteBot, opts: Record<string, unknown>) => {
    hub.attachInfer({ ref: childPath("infer"), opts: { chunks: 1 } }, { primary: true });
    hub.attach({ ref: childPath("ui"), opts: { ...opts, first: true } });
  };
  return throughHub(1, signal, attach, kept);
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
  kept: Kept = "memory",
): Promise<Figure> {
  let cpu = process.cpuUsage();
  await using report = await openReport(() => (cpu = process.cpuUsage()), signal);
  return await withHub(kept, { quotas: QUOTAS }, async (hub) => {
    attach(hub, { report: report.port });
    await hub.start();
    const figure = await report.figure;
    return { ...figure, cpu_us: micros(cpu) / count };
  });
}
