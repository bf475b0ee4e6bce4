/** Turns inside one process, without I/O: what the Hub itself and the SDK cost. */
import { performance } from "node:perf_hooks";
import { ByteBot } from "bytebot";
import * as bb from "bytebot/sdk";
import type { Measure } from "./measure.ts";
import { QUOTAS } from "./ours.ts";
import { type Figure, micros } from "./work.ts";

const IN_FLIGHT = 100;
const TURNS = 10_000;

/** An app with an infer in its own process, which answers at once; `turn` runs one. */
export async function openInproc(hub = new ByteBot({ quotas: QUOTAS })) {
  const infer = async () => {
    const satellite = await bb.sync({ kind: "infer", primary: true });
    satellite.onInfer(async (_request, reply) => {
      reply.text("done");
      return { stop_reason: "end_turn" };
    });
    await satellite.start();
  };
  hub.attachInfer({ main: infer }, { primary: true });
  const ended = new Map<string, () => void>();
  const ui = async () => {
    const satellite = await bb.sync({ kind: "ui", inputCapable: true, types: ["infer_chunk"] });
    satellite.onInferChunk((event) => {
      if (event.kind === "loop_done") ended.get(String(event.scope))?.();
    });
    await satellite.start();
  };
  hub.attach({ main: ui, kind: "ui" });
  await hub.start();
  return {
    async turn(scope: string) {
      const end = new Promise<void>((resolve) => ended.set(scope, resolve));
      await hub.send(scope, "go");
      await end;
      ended.delete(scope);
    },
    [Symbol.asyncDispose]: () => hub.stop(),
  };
}

/** `turns` turns, 100 in flight, each in a conversation of its own from `first` on. */
export async function runTurns(
  app: { turn(scope: string): Promise<void> },
  turns: number,
  name: string,
  signal: AbortSignal,
): Promise<void> {
  let next = 0;
  const lane = async () => {
    while (next < turns && !signal.aborted) await app.turn(`u_${name}/c_${next++}`);
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, lane));
  signal.throwIfAborted();
}

async function turns(signal: AbortSignal): Promise<Figure> {
  await using app = await openInproc();
  await runTurns(app, TURNS / 5, "warm", signal);
  const cpu = process.cpuUsage();
  const started = performance.now();
  await runTurns(app, TURNS, "main", signal);
  const seconds = (performance.now() - started) / 1e3;
  return { turns_per_s: TURNS / seconds, cpu_us: micros(cpu) / TURNS };
}

/** A turn's fewest values, as an app without a Hub would pass them: input, request, answer, end. */
async function calls(): Promise<Figure> {
  const model = async (request: { messages: object[] }) => ({ ...request, text: "done" });
  const turn = async (scope: string) => {
    const input = structuredClone({ scope, text: "go" });
    const answer = structuredClone(await model({ messages: [{ role: "user", content: input.text }] }));
    return JSON.stringify(answer);
  };
  const cpu = process.cpuUsage();
  const started = performance.now();
  for (let number = 0; number < TURNS; number++) await turn(`u_${number}`);
  const seconds = (performance.now() - started) / 1e3;
  return { turns_per_s: TURNS / seconds, cpu_us: micros(cpu) / TURNS };
}

export const inproc: Measure = {
  title: "Turns in one process, without I/O",
  columns: [
    { key: "turns_per_s", title: "turns/s", unit: "" },
    { key: "cpu_us", title: "CPU a turn", unit: "µs" },
  ],
  contenders: [
    { name: "two copies and a call, no Hub", role: "floor", measure: calls },
    { name: "ByteBot, app → Hub → infer", role: "ours", goals: { turns_per_s: "≥ 20,000" }, measure: turns },
  ],
};
