import { readdirSync, readFileSync } from "node:fs";

/** Runs, and is not merely waiting to be collected. Linux only, as are the tests of what a child leaves behind. */
export function isRunning(pid: number): boolean {
  const state = /^State:\s+(\S)/m.exec(read(`/proc/${pid}/status`))?.[1];
  return state !== undefined && state !== "Z" && state !== "X";
}

/** Of all running processes those with this text in the environment they were started with. */
export function carrying(text: string): number[] {
  return pids().filter((pid) => isRunning(pid) && read(`/proc/${pid}/environ`).includes(text));
}

export function childrenOf(parent: number): number[] {
  return pids().filter(
    (pid) => isRunning(pid) && Number(/^PPid:\s+(\d+)/m.exec(read(`/proc/${pid}/status`))?.[1]) === parent,
  );
}

function pids(): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

function read(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}
