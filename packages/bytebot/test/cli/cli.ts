import { spawn, type ChildProcess } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import type { TestContext } from "node:test";
import { parseLines } from "../matcher.ts";

const MAIN = join(import.meta.dirname, "../../dist/cli/main.js");
/** Its Hubs are checked like those of any test. */
const AUDIT = pathToFileURL(join(import.meta.dirname, "../../../../scripts/audit.ts")).href;
const DEADLINE_MS = 30_000;

/** A folder of its own for this test, with these files. */
export async function folder(t: TestContext, files: Record<string, string | object> = {}): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), "bytebot-cli-"));
  t.after(() => rm(made, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(made, name)), { recursive: true });
    await writeFile(join(made, name), typeof content === "string" ? content : JSON.stringify(content));
  }
  return made;
}

export interface Options {
  cwd?: string;
  env?: Record<string, string>;
  input?: string;
}

/** The CLI in a process of its own; what it starts carries a mark, so that nothing of it is missed. */
export class Cli {
  out = "";
  err = "";
  readonly pid: number;
  readonly done: Promise<{ code: number | null; signal: NodeJS.Signals | null; out: string; err: string }>;
  private readonly child: ChildProcess;
  private readonly changed = new Set<() => void>();

  constructor(t: TestContext, args: string[], { cwd = tmpdir(), env = {}, input = "" }: Options = {}) {
    // TMPDIR is passed on to children of the Hub: the mark by which they are known.
    const mark = { TMPDIR: tmpdir(), XDG_RUNTIME_DIR: "", NODE_NO_WARNINGS: "1", ...env };
    this.child = spawn(process.execPath, ["--import", AUDIT, MAIN, ...args], {
      cwd,
      env: { ...process.env, ...mark },
      stdio: "pipe",
    });
    this.pid = this.child.pid!;
    this.child.stdin!.on("error", () => undefined);
    this.child.stdin!.end(input);
    this.child.stdout!.setEncoding("utf8").on("data", (text: string) => this.heard(() => (this.out += text)));
    this.child.stderr!.setEncoding("utf8").on("data", (text: string) => this.heard(() => (this.err += text)));
    this.done = new Promise((resolve) =>
      this.child.on("close", (code, signal) => {
        this.heard(() => undefined);
        resolve({ code, signal, out: this.out, err: this.err });
      }),
    );
    t.after(async () => {
      this.child.kill("SIGKILL");
      await this.done;
    });
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** Nobody reads its stdout any more. */
  stopReading(): void {
    this.child.stdout!.destroy();
  }

  lines(): ReturnType<typeof parseLines> {
    return parseLines(this.out.slice(0, this.out.lastIndexOf("\n") + 1));
  }

  /** Waits until this holds of what it has printed. */
  async until(what: string, condition: (cli: this) => boolean): Promise<void> {
    const deadline = Date.now() + DEADLINE_MS;
    while (!condition(this)) {
      const state = `stdout:\n${this.out}\nstderr:\n${this.err}`;
      if (this.child.exitCode !== null || this.child.signalCode !== null)
        throw new Error(`it ended before ${what}; ${state}`);
      if (Date.now() > deadline) throw new Error(`${what} was not seen in ${DEADLINE_MS / 1000} s; ${state}`);
      const late = new AbortController();
      const heard = new Promise<void>((resolve) => this.changed.add(resolve));
      await Promise.race([
        heard,
        setTimeout(deadline - Date.now(), undefined, { signal: late.signal }).catch(() => {}),
      ]);
      late.abort();
    }
  }

  private heard(change: () => void): void {
    change();
    for (const resolve of this.changed) resolve();
    this.changed.clear();
  }
}

/** For what tells nobody when it happens: looked at until it holds, or the deadline. */
export async function eventually(condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + DEADLINE_MS;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`it did not come to that in ${DEADLINE_MS / 1000} s`);
    await setTimeout(20);
  }
}

/** The processes that satellites of this test are, or started: by the folder they run in, or the mark in their environment. */
export function leftOf(mark: string): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const environment = readFileSync(`/proc/${pid}/environ`, "latin1");
        return environment.includes("BYTEBOT_GROUP=") && environment.includes(mark);
      } catch {
        return false; // gone, or another user's
      }
    });
}
