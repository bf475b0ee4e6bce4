import { spawn, type ChildProcess } from "node:child_process";
import { Socket } from "node:net";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import type { Group } from "./group.ts";

/** What a guard that was told to leave may still take, in milliseconds. */
const LEAVE_MS = 1000;

const guarded = new Set<Group>();
let guard: ChildProcess | undefined;

/**
 * From now on this group does not outlive us, however we end. A second process does it, which holds a pipe to us and acts
 * when that closes: after a SIGKILL none of our own code runs. To be told again once the group has its `pid`.
 */
export function watch(group: Group): void {
  guarded.add(group);
  if (guard) tell(guard, "+", group);
  else {
    guard = start();
    for (const each of guarded) tell(guard, "+", each);
  }
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

function start(): ChildProcess {
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
  // A write to a guard that was killed; its "exit" says so too.
  started.stdin?.on("error", () => {});
  started.on("error", (error) => {
    process.emitWarning(`no guard process (${error.message}): satellites may outlive a crash of this one`);
    if (guard === started) guard = undefined;
  });
  // Somebody ended it: the next child starts another, which is told of all groups.
  started.once("exit", () => {
    if (guard === started) guard = undefined;
  });
  return started;
}

/** The full stop tells a whole line from one cut short by our death: half a pid is another process. */
function tell(to: ChildProcess, sign: "+" | "-", { marker, pid }: Group): void {
  to.stdin?.write(`${sign} ${marker} ${pid ?? 0}.\n`);
}
