import { createInterface } from "node:readline";
import { endGroups, type Group } from "./group.ts";

/** A program: on stdin `+ marker pid.` and `- marker pid.`, one a line, and its end means that whoever wrote them is dead. */
const LINE = /^([+-]) (\S+) (\d+)\.$/;
const GRACE_MS = 1000;

// Only the end of stdin ends the guard: it is there for the moment in which everything else is being ended.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});

const groups = new Map<string, Group>();
for await (const line of createInterface({ input: process.stdin })) {
  const [, sign, marker, pid] = LINE.exec(line) ?? [];
  if (marker === undefined) continue;
  if (sign === "+") groups.set(marker, { marker, pid: Number(pid) || undefined });
  else groups.delete(marker);
}
await endGroups([...groups.values()], GRACE_MS);
