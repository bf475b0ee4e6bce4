/** ByteBot over HTTP: the Hub in this process serves whoever dials in, and dials what serves. Every check is on. */
import { setTimeout } from "node:timers/promises";
import { ByteBot } from "bytebot";
import type { OverHttp } from "./children/over-http.ts";
import { startServer } from "./http.ts";
import { childPath, startChild } from "./lines.ts";
import { QUOTAS } from "./ours.ts";
import { openReport } from "./report.ts";
import { callWork, type Figure, HTTP_CALLS, MEASURED, micros } from "./work.ts";

const TOKEN = "a-token-of-this-bench-alone-which-guards-nothing";
const policy = [{ tool: "echo", decision: "allow" as const }]; // a tool of elsewhere is asked for, unless said so

const startTools = (signal: AbortSignal) => {
  const how: OverHttp = { component: "tools", token: TOKEN, serve: true };
  return startServer("over-http.ts", signal, JSON.stringify(how));
};

/** A controller that dials in calls a toolsource that is dialled: the controller keeps the clock. */
export async function toolByCaller(signal: AbortSignal): Promise<Figure> {
  await using tools = await startTools(signal);
  return await throughDialIn(MEASURED.httpTool, signal, {
    hub: new ByteBot({ policy, quotas: QUOTAS }),
    attach: (hub) => hub.attach({ ref: tools.url, token: TOKEN }),
    component: "caller",
    opts: { http: true },
  });
}

/** The app itself calls a toolsource that is dialled. */
export async function toolByApp(signal: AbortSignal): Promise<Figure> {
  await using tools = await startTools(signal);
  await using hub = new ByteBot({ policy, quotas: QUOTAS });
  hub.attach({ ref: tools.url, token: TOKEN });
  await hub.start();
  const call = async (text: string, lane: number) => {
    const result = await hub.callTool(`u_${lane}`, "echo", { text }, { signal });
    const block = result.content?.[0];
    if (block?.type !== "text") throw new Error(`the call failed: ${JSON.stringify(result)}`);
    return block.text;
  };
  return await callWork(call, undefined, HTTP_CALLS);
}

/** An infer's chunks, over stdio, to a UI that dials in: the UI asks for the turns and keeps the clock. */
export function relayToDialIn(format: "ndjson" | "sse", signal: AbortSignal): Promise<Figure> {
  return throughDialIn(MEASURED.relay, signal, {
    hub: new ByteBot({ quotas: QUOTAS }),
    attach: (hub) => hub.attachInfer({ ref: childPath("infer") }, { primary: true }),
    component: "ui",
    format,
  });
}

interface DialIn {
  hub: ByteBot;
  attach: (hub: ByteBot) => void;
  component: string;
  opts?: Record<string, unknown>;
  format?: "ndjson" | "sse";
}

/** The figure of the child that dials in, with the Hub's own CPU instead of the child's, spread over `count`. */
async function throughDialIn(count: number, signal: AbortSignal, dialIn: DialIn): Promise<Figure> {
  const { attach, component, opts, format = "ndjson" } = dialIn;
  let cpu = process.cpuUsage();
  await using report = await openReport(() => (cpu = process.cpuUsage()), signal);
  await using hub = dialIn.hub;
  attach(hub);
  await hub.start();
  const url = await hub.serveHttp();
  hub.addToken({ name: component, controller: true }, TOKEN);
  const how: OverHttp = { component, token: TOKEN, dial: url, format, opts: { ...opts, report: report.port } };
  await using child = startChild("over-http.ts", signal, JSON.stringify(how));
  const figure = await Promise.race([report.figure, child.gone]);
  return { ...figure, cpu_us: micros(cpu) / count };
}

/** `count` children dial in, each with its own opts; resolves when the Hub knows them all. */
export async function dialIns(hub: ByteBot, component: string, opts: Record<string, unknown>[], signal: AbortSignal) {
  const url = await hub.serveHttp();
  hub.addToken({ name: "", kind: "ui" }, TOKEN);
  const before = (await hub.components()).length;
  const children = opts.map((each) => {
    const how: OverHttp = { component, token: TOKEN, dial: url, opts: each };
    return startChild("over-http.ts", signal, JSON.stringify(how));
  });
  while ((await hub.components()).length < before + opts.length) await setTimeout(20, undefined, { signal });
  return children;
}
