import { spawn } from "node:child_process";

export interface Outcome {
  /** Exit 0 within the deadline. */
  ok: boolean;
  /** stdout and stderr as they came, and what ended it if it was not its own exit. */
  output: string;
  /** Milliseconds. */
  took: number;
}

const running = new Set<() => void>();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.once(signal, () => {
    for (const end of running) end();
    process.kill(process.pid, signal);
  });
}

/** Runs this Node on `args`, as `run` does. */
export function runNode(args: readonly string[], deadlineMs: number, cwd = process.cwd()): Promise<Outcome> {
  return run(process.execPath, args, deadlineMs, cwd);
}

/** Runs a program in `cwd`, in a process group of its own, and ends the whole group at the deadline or when we are ended. */
export function run(
  command: string,
  args: readonly string[],
  deadlineMs: number,
  cwd = process.cwd(),
): Promise<Outcome> {
  const started = performance.now();
  const grouped = process.platform !== "win32";
  const child = spawn(command, args, { cwd, stdio: ["ignore", "pipe", "pipe"], detached: grouped });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (output += text));
  const end = () => {
    if (child.pid === undefined) return;
    try {
      if (grouped) process.kill(-child.pid, "SIGKILL");
      else child.kill("SIGKILL");
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error; // it has ended already
    }
  };
  running.add(end);
  return new Promise((resolve) => {
    const settle = (ok: boolean) => {
      clearTimeout(timer);
      end(); // what it left running, too
      running.delete(end);
      resolve({ ok, output, took: performance.now() - started });
    };
    const timer = setTimeout(() => {
      output += `\nnot done after ${deadlineMs / 1000} s: ended\n`;
      end();
    }, deadlineMs);
    child.on("error", (error) => {
      output += `\n${error.message}\n`;
      settle(false);
    });
    child.on("exit", (code, signal) => {
      if (signal !== null) output += `\nended by ${signal}\n`;
      // Output still in the pipes belongs to it; what a grandchild holds open does not.
      const drained = setTimeout(() => settle(code === 0), 1000);
      child.on("close", () => {
        clearTimeout(drained);
        settle(code === 0);
      });
    });
  });
}
