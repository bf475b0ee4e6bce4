import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

const folder = new URL("./fixtures/python/", import.meta.url).pathname;
const LISTENING = /^listening on (\S+)$/;

/** What a child whose Hub has said bye may take to leave by itself. */
const LEAVE_MS = 5000;

/** Python satellites that a test starts itself, as whoever runs them on another machine does; ended with it. */
export class Children implements AsyncDisposable {
  private readonly children: ChildProcess[] = [];
  /** They serve one Hub after the other, until they are told to stop. */
  private readonly serving: ChildProcess[] = [];
  private readonly hear: (line: string) => void;

  /** `hear`: each line of their stderr, after the child's name and a colon. */
  constructor(hear: (line: string) => void) {
    this.hear = hear;
  }

  /** `url` resolves where the child serves. */
  start(name: string, env: Record<string, string>): { url: Promise<string>; child: ChildProcess } {
    const child = spawn("python3", [`${name}.py`], {
      cwd: folder,
      env: { PATH: process.env["PATH"], ...env },
      stdio: ["ignore", "ignore", "pipe"],
    });
    this.children.push(child);
    const url = Promise.withResolvers<string>();
    url.promise.catch(() => undefined);
    child.once("exit", () => url.reject(new Error(`${name} ended before it listened`)));
    createInterface({ input: child.stderr }).on("line", (line) => {
      const [, where] = LISTENING.exec(line) ?? [];
      if (where === undefined) this.hear(`${name}: ${line}`);
      else {
        this.serving.push(child);
        url.resolve(where);
      }
    });
    return { url: url.promise, child };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const running = this.children.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null);
    const ended = Promise.all(running.map((child) => once(child, "close")));
    for (const child of this.serving) child.kill();
    const stuck = setTimeout(() => {
      for (const child of running) child.kill("SIGKILL");
    }, LEAVE_MS);
    await ended;
    clearTimeout(stuck);
  }
}
