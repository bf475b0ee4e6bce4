/** The least that JSON lines over a pipe can cost: the floors are made of this and of nothing else. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";

/** Calls `receive` with each line's value, trusted to be a T. Cut on the byte 0x0A, decoded in whole lines. */
export function readLines<T>(input: Readable, receive: (value: T) => void): void {
  let rest: Buffer = Buffer.alloc(0);
  input.on("data", (bytes: Buffer) => {
    const end = bytes.lastIndexOf(10) + 1;
    if (end === 0) {
      rest = Buffer.concat([rest, bytes]);
      return;
    }
    const lines = rest.length ? Buffer.concat([rest, bytes.subarray(0, end)]) : bytes.subarray(0, end);
    rest = bytes.subarray(end);
    for (const line of lines.toString().split("\n")) if (line) receive(JSON.parse(line) as T);
  });
}

/** Returns a `send` that joins the lines of one tick into one write. */
export function writeLines(output: Writable): (value: object) => void {
  let pending = "";
  return (value) => {
    if (!pending) {
      queueMicrotask(() => {
        output.write(pending);
        pending = "";
      });
    }
    pending += JSON.stringify(value) + "\n";
  };
}

/** Path of a program in children/. */
export const childPath = (name: string): string => fileURLToPath(new URL(`./children/${name}`, import.meta.url));

/** A child on a pipe. It ends when its stdin ends (dispose) or `signal` aborts; `gone` rejects if it ends before. */
export function startChild(name: string, signal: AbortSignal, ...options: string[]) {
  const command = [...options.filter((each) => each.startsWith("--")), childPath(name)];
  const args = options.filter((each) => !each.startsWith("--"));
  const stdio = ["pipe", "pipe", "inherit"] as const;
  const child = spawn(process.execPath, [...command, ...args], { stdio: [...stdio], signal });
  let disposed = false;
  const exit = new Promise<string>((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("exit", (code, reason) => resolve(`exit ${code ?? reason}`));
  });
  const gone = new Promise<never>((_, reject) => {
    void exit.then((how) => {
      if (!disposed) reject(new Error(`children/${name} ended before its work did: ${how}`));
    });
  });
  gone.catch(() => {}); // who races it sees the error; where nobody does any more, the measure has its figure
  return {
    stdin: child.stdin,
    stdout: child.stdout,
    gone,
    async [Symbol.asyncDispose]() {
      disposed = true;
      child.stdin.end();
      await exit;
    },
  };
}

/** Writes text and waits while the pipe is full. */
export async function writeAll(output: Writable, text: string): Promise<void> {
  if (!output.write(text)) await once(output, "drain");
}
