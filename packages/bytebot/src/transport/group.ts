import { readFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { setImmediate, setTimeout } from "node:timers/promises";

/** In the environment of a child and of all it starts, wrappers and daemons too: how what left the process group is found. */
export const MARKER = "BYTEBOT_GROUP";
const POLL_MS = 20;
/** Processes looked at before other work gets its turn. */
const SLICE = 32;

/** All that one child started. `pid` leads the process group; undefined until it runs. */
export interface Group {
  readonly marker: string;
  pid: number | undefined;
}

/**
 * Ends these groups: TERM, after `graceMs` KILL, until nothing of them is left.
 * Resolves with what would not end, as for `kill` (a negative number names a process group).
 */
export async function endGroups(groups: readonly Group[], graceMs: number): Promise<number[]> {
  let left: number[] = [];
  for (const signal of ["SIGTERM", "SIGKILL"] as const) {
    const told = new Set<number>();
    const deadline = performance.now() + graceMs;
    do {
      left = await living(groups);
      // Looked at twice: what was started while the first look went round is not missed.
      if (left.length === 0 && (await living(groups)).length === 0) return left;
      for (const target of left) {
        if (told.has(target)) continue;
        told.add(target);
        deliver(target, signal);
      }
      await setTimeout(POLL_MS);
    } while (performance.now() < deadline);
  }
  return living(groups);
}

/** What still runs of these groups: the groups themselves, and the processes outside them that carry their marker. */
async function living(groups: readonly Group[]): Promise<number[]> {
  const leaders = groups.flatMap(({ pid }) => (isPid(pid) ? [pid] : []));
  // Elsewhere than on Linux there is no /proc: the process group is all that can be known.
  if (process.platform !== "linux") return leaders.map((pid) => -pid).filter((group) => deliver(group, 0));
  const markers = groups.map(({ marker }) => `${MARKER}=${marker}`);
  const found = new Set<number>();
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  for (const [index, pid] of pids.entries()) {
    if (index % SLICE === SLICE - 1) await setImmediate();
    if (pid === process.pid) continue;
    const group = groupOf(pid);
    if (group === undefined) continue;
    if (leaders.includes(group)) found.add(-group);
    else if (carries(pid, markers)) found.add(pid);
  }
  return [...found];
}

/** The process group of a process that runs; undefined where it is gone, or dead and only waits to be collected. */
function groupOf(pid: number): number | undefined {
  const stat = read(`/proc/${pid}/stat`)?.toString("latin1");
  // pid (name) state ppid pgrp …, and the name may hold anything, ")" too.
  const [state, , group] = stat?.slice(stat.lastIndexOf(")") + 2).split(" ") ?? [];
  return state === undefined || state === "Z" || state === "X" ? undefined : Number(group);
}

function carries(pid: number, markers: readonly string[]): boolean {
  const environment = read(`/proc/${pid}/environ`);
  return environment !== undefined && markers.some((marker) => environment.includes(marker));
}

/** Undefined where the process has gone meanwhile, or is another user's. */
function read(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
}

/** False where there is nobody left to get it. */
function deliver(target: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(target, signal);
  } catch {
    return false;
  }
}

/** 0 and 1 would name our own group, or every process there is. */
function isPid(pid: number | undefined): pid is number {
  return pid !== undefined && Number.isSafeInteger(pid) && pid > 1;
}
