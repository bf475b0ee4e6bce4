import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import type { ByManifest, ByReference } from "../../src/app/component.ts";
import { reach } from "../../src/app/reach.ts";
import { Listening, run, type Outcome, type RunOptions, type Tested } from "../../src/check/index.ts";
import type { Kind } from "../../src/wire/index.ts";

const base = join(import.meta.dirname, "fixtures");
const LISTENING = /^listening on (\S+)$/;

/** A satellite of the fixtures, right, or wrong in the one way that is named. */
export function python(kind: Kind, wrong?: string): ByManifest {
  // Without what a site adds: a process starts in half the time.
  const command = ["python3", "-S", "-E", `${kind}.py`, ...(wrong === undefined ? [] : [wrong])];
  return { kind, entry: { type: "stdio", command } };
}

/** The same, serving HTTP in a process of its own, which ends with the test. */
export async function pythonServing(t: TestContext, kind: Kind, wrong = "", folder = base): Promise<ByReference> {
  const token = randomUUID();
  const child = spawn("python3", ["-S", "-E", `${kind}.py`, wrong], {
    cwd: folder,
    env: { PATH: process.env["PATH"], WIRE: "serve", BYTEBOT_TOKEN: token },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const ended = once(child, "close");
  t.after(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  const said: string[] = [];
  for await (const line of createInterface({ input: child.stderr })) {
    const [, url] = LISTENING.exec(line) ?? [];
    said.push(line);
    if (url === undefined) continue;
    // Nobody reads what else it says.
    child.stderr.resume();
    return { ref: url, kind, ...(wrong === "all-addresses" ? {} : { token }) };
  }
  throw new Error(`it ended before it listened: ${said.join("\n")}`);
}

/** All outcomes of one run. */
export async function checked(
  component: Parameters<typeof reach>[0],
  options: Omit<RunOptions, "signal"> & { dialsIn?: true } = {},
): Promise<Outcome[]> {
  const { dialsIn, ...rest } = options;
  const reached: Tested = await reach(component, { base, print: () => undefined });
  const listening = dialsIn && (await Listening.open({ host: "127.0.0.1", port: 0 }));
  if (listening) reached.listening = listening;
  const outcomes: Outcome[] = [];
  const signal = new AbortController().signal;
  try {
    for await (const outcome of run(reached, { ...rest, signal })) outcomes.push(outcome);
  } finally {
    await listening?.close();
  }
  return outcomes;
}
