/** Is the cost of a turn flat in the number of conversations that do nothing? */
import { openInproc, runTurns } from "./inproc.ts";
import type { Measure } from "./measure.ts";
import { type Figure, micros } from "./work.ts";

const TURNS = 5_000;

async function beside(idle: number, signal: AbortSignal): Promise<Figure> {
  await using app = await openInproc();
  await runTurns(app, TURNS, "warm", signal);
  await runTurns(app, idle, "idle", signal);
  const cpu = process.cpuUsage();
  await runTurns(app, TURNS, "main", signal);
  return { cpu_us: micros(cpu) / TURNS };
}

export const idle: Measure = {
  title: "Cost of a turn beside idle conversations",
  columns: [{ key: "cpu_us", title: "CPU a turn", unit: "µs" }],
  contenders: [
    { name: "1 idle", role: "floor", goals: { cpu_us: "≤ 1.1×" }, measure: (signal) => beside(1, signal) },
    { name: "1,000 idle", role: "floor", goals: { cpu_us: "≤ 1.1×" }, measure: (signal) => beside(1_000, signal) },
    { name: "100,000 idle", role: "ours", measure: (signal) => beside(100_000, signal) },
  ],
  rounds: 2,
};
