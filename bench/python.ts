/** Python: chunks into a UI's handler, and tool round trips beside the official `mcp` package. */
import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { findPython, folder as sdk, makeEnvironment } from "../scripts/python.ts";
import type { Measure } from "./measure.ts";
import type { Figure } from "./work.ts";

const here = fileURLToPath(new URL("python/", import.meta.url));
let environment: Promise<string> | undefined;

/** An environment of its own, as the lock file of the bench is: with `mcp`, and the SDK of this checkout. */
async function python(): Promise<string> {
  const found = await findPython();
  if (found === undefined) throw new Error("there is no Python 3.11 or later with venv");
  const requirements = `${here}requirements.txt`;
  return makeEnvironment(found, {
    venv: `${here}.venv`,
    install: ["-r", requirements, "-e", sdk],
    madeOf: await readFile(requirements, "utf8"),
  });
}

const RUN_MS = 60_000;

/** One run of one contender, which prints its figure. Making the environment, once, is no part of it. */
const runs = (name: string) => async () => {
  const program = await (environment ??= python());
  const signal = AbortSignal.timeout(RUN_MS);
  const child = spawn(program, ["run.py", name], { cwd: here, stdio: ["ignore", "pipe", "inherit"], signal });
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (said += text));
  await new Promise<void>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => (code === 0 ? resolve() : reject(new Error(`run.py ${name} ended with exit ${code}`))));
  });
  return JSON.parse(said) as Figure;
};

export const pythonTool: Measure = {
  title: "Tool round trip over stdio, in Python",
  columns: [
    { key: "p50_us", title: "p50", unit: "µs" },
    { key: "p99_us", title: "p99", unit: "µs" },
    { key: "calls_per_s", title: "calls/s, 100 in flight", unit: "" },
  ],
  contenders: [
    { name: "JSON lines echo, one hop", role: "floor", measure: runs("tool-floor") },
    { name: "mcp package, one hop", role: "peer", measure: runs("tool-mcp") },
    { name: "ByteBot, app → Hub → toolsource", role: "ours", measure: runs("tool-ours") },
  ],
};

export const pythonChunks: Measure = {
  title: "Chunks into the handler of a UI in Python",
  columns: [
    { key: "events_per_s", title: "chunks/s", unit: "" },
    { key: "cpu_us", title: "CPU of the UI a chunk", unit: "µs" },
  ],
  contenders: [
    { name: "JSON lines, one hop, `json.loads`", role: "floor", measure: runs("chunks-floor") },
    { name: "ByteBot, infer → Hub → ui", role: "ours", measure: runs("chunks-ours") },
  ],
};
