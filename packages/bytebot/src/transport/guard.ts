import { spawn, type ChildProcess } from "node:child_process";
import { Socket } from "node:net";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import type { Group } from "./group.ts";

/** What a guard that was told to leave may still take, in milliseconds. */
const LEAVE_MS = 1000;

/** So often a guard that somebody ended is replaced; one that cannot run at all must not be started for ever. */
const MAX_LOSSES = 5;

const guarded = new Set<Group>();
let guard: ChildProcess | undefined;
let losses = 0;

/**
 * From now on this group does not outlive us, however we end. A second process does it, which holds a pipe to us and acts
 * when that closes: after a SIGKILL none of our own code runs. To be told again once the group has its `pid`.
 */
export function watch(group: Group): void {
  guarded.add(group);
  if (guard) tell(guard, "+", group);
  else start();
}

/** The group has ended. The guard goes with the last one; resolves when it has. */
export async function unwatch(group: Group): Promise<void> {
  guarded.delete(group);
  if (!guard) return;
  tell(guard, "-", group);
  if (guarded.size > 0) return;
  const leaving = guard;
  guard = undefined;
  const gone = new Promise((resolve) => leaving.once("exit", resolve));
  leaving.stdin?.end();
  leaving.ref();
  const timer = setTimeout(() => leaving.kill("SIGKILL"), LEAVE_MS);
  await gone;
  clearTimeout(timer);
}

function start(): void {
  const program = new URL(`./guard-process${extname(import.meta.url)}`, import.meta.url);
  // A session of its own: Ctrl-C in the terminal, or its closing, ends us and not the guard.
  const started = spawn(process.execPath, [fileURLToPath(program)], {
    cwd: "/",
    env: {},
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  started.unref();
  if (started.stdin instanceof Socket) started.stdin.unref();
  // A write to a guard that has ended; its "exit" says so too.
  started.stdin?.on("error", () => {});
  started.once("error", () => lost(started));
  started.once("exit", () => lost(started));
  guard = started;
  for (const group of guarded) tell(started, "+", group);
}

function lost(ended: ChildProcess): void {
  if (guard !== ended) return;
  guard = undefined;
  if (++losses <= MAX_LOSSES) return start();
  process.emitWarning("the guard process does not stay: satellites may outlive a crash of this program");
}

/** The full stop tells a whole line from one cut short by our death: half a pid is another process. */
function tell(to: ChildProcess, sign: "+" | "-", { marker, pid }: Group): void {
  to.stdin?.write(`${sign} ${marker} ${pid ?? 0}.\n`);
}
