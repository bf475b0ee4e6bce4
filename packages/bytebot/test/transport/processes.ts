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

/** All that a process started which still hangs on it: daemons do not. */
export function descendantsOf(ancestor: number): number[] {
  return childrenOf(ancestor).flatMap((child) => [child, ...descendantsOf(child)]);
}

/** Has the process asked to be told of this signal, rather than to be ended by it? */
export function catches(pid: number, signal: number): boolean {
  const caught = /^SigCgt:\s+(\w+)/m.exec(read(`/proc/${pid}/status`))?.[1] ?? "0";
  return ((BigInt(`0x${caught}`) >> BigInt(signal - 1)) & 1n) === 1n;
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
