/** Opens an app on a log, some times, then runs a turn in each of many conversations; tells what that takes. */
import { performance } from "node:perf_hooks";
import { ByteBot } from "bytebot";
import { openInproc, runTurns } from "../inproc.ts";
import type { Told } from "../idle-log.ts";
import { QUOTAS } from "../ours.ts";
import { micros, percentiles } from "../work.ts";

const OPENED = 9;
const USED = 20_000;
const file = process.argv[2]!;

const taken = () => {
  globalThis.gc?.();
  const { rss, heapUsed } = process.memoryUsage();
  return { rss, heapUsed };
};

const times: number[] = [];
const used: number[] = [];
for (let n = 0; n < OPENED; n++) {
  const started = performance.now();
  const cpu = process.cpuUsage();
  const hub = await ByteBot.open({ file, quotas: QUOTAS });
  await hub.start();
  times.push(performance.now() - started);
  used.push(micros(cpu) / 1e3);
  await hub.stop();
}
const hub = await ByteBot.open({ file, synchronous: "normal", quotas: QUOTAS });
await using app = await openInproc(hub);
const { signal } = new AbortController();
const { rss } = taken();
// What stays in memory of the first, and the caches they fill, is no cost of those that follow.
await runTurns(app, USED / 5, "warm", signal);
const warm = taken();
await runTurns(app, USED, "used", signal);
const told: Told = {
  start_ms: percentiles(times).p50_us,
  cpu_ms: percentiles(used).p50_us,
  rss_mib: rss / 1024 / 1024,
  used_bytes: (taken().heapUsed - warm.heapUsed) / USED,
};
process.stdout.write(JSON.stringify(told) + "\n");
