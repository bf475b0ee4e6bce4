/** Opens an app on a log, then runs a turn in each of many conversations; tells what the process takes at both times. */
import { performance } from "node:perf_hooks";
import { ByteBot } from "bytebot";
import { openInproc, runTurns } from "../inproc.ts";
import type { Told } from "../idle-log.ts";
import { QUOTAS } from "../ours.ts";

const USED = 20_000;
const file = process.argv[2]!;

const rss = (): number => {
  globalThis.gc?.();
  return process.memoryUsage.rss();
};

const started = performance.now();
const hub = await ByteBot.open({ file, synchronous: "normal", quotas: QUOTAS });
await using app = await openInproc(hub);
const start_ms = performance.now() - started;
const { signal } = new AbortController();
const before = rss();
// The pools and caches that a few conversations fill are no cost of those that follow.
await runTurns(app, USED / 10, "warm", signal);
const warm = rss();
await runTurns(app, USED, "used", signal);
const told: Told = { start_ms, rss_mib: before / 1024 / 1024, used_kib: (rss() - warm) / USED / 1024 };
process.stdout.write(JSON.stringify(told) + "\n");
