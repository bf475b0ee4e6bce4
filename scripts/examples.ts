/** Runs every examples/<story>/main.ts; each asserts its own story and exits 0. Exits 1 if one fails or there is none. */
import { globSync } from "node:fs";
import { join } from "node:path";
import { runNode } from "./run.ts";

const DEADLINE_MS = 60_000;
const root = join(import.meta.dirname, "..");

const examples = globSync("examples/*/main.ts", { cwd: root }).sort();
if (examples.length === 0) {
  console.error("there is no examples/*/main.ts: run this in a whole checkout");
  process.exitCode = 1;
}
for (const example of examples) {
  const { ok, output, took } = await runNode(["--enable-source-maps", join(root, example)], DEADLINE_MS);
  console.log(`${ok ? "ok  " : "FAIL"} ${example} ${(took / 1000).toFixed(1)} s`);
  if (ok) continue;
  process.exitCode = 1;
  console.log(output.trimEnd());
}
