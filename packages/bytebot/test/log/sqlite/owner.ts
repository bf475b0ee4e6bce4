import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface, type Interface } from "node:readline";
import { fileURLToPath } from "node:url";

const NOBODY = 65_534;

/** A real process that owns a log: see appender.ts. */
export class Owner {
  readonly child: ChildProcess;
  private readonly lines: AsyncIterator<string>;
  private readonly reader: Interface;

  /** `through`: a program that starts it; `unprivileged`: not as root. */
  constructor(
    file: string,
    {
      mode = "",
      through = [],
      unprivileged = false,
    }: { mode?: string; through?: readonly string[]; unprivileged?: boolean } = {},
  ) {
    const script = fileURLToPath(new URL("appender.ts", import.meta.url));
    const [command, ...args] = [...through, process.execPath, script, file, mode];
    this.child = spawn(command!, args, {
      stdio: ["pipe", "pipe", "inherit"],
      ...(unprivileged && process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {}),
    });
    this.reader = createInterface(this.child.stdout!);
    this.lines = this.reader[Symbol.asyncIterator]();
  }

  /** The next line it says; undefined when it has ended. */
  async said(): Promise<string | undefined> {
    const next = await this.lines.next();
    return next.done ? undefined : next.value;
  }

  async opened(): Promise<this> {
    assert.equal(await this.said(), "open");
    return this;
  }

  /** What it answers to this append. */
  async append(cell: string, expected: number, id: string): Promise<string | undefined> {
    this.child.stdin!.write(`${cell} ${expected} ${id}\n`);
    return this.said();
  }

  async kill(): Promise<void> {
    const ended = once(this.child, "exit");
    this.child.kill("SIGKILL");
    await ended;
  }

  async end(): Promise<void> {
    const ended = this.child.exitCode === null ? once(this.child, "exit") : undefined;
    this.child.stdin!.end();
    await ended;
  }
}
