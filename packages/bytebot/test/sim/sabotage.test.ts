import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { suite, test } from "node:test";
import { sabotages } from "./sabotages.ts";

const SEEDS = "400";

/** Runs seeds in a process whose Hub lacks this rule; answers what it printed. */
function seedsWithout({ name, mode, from = 1 }: (typeof sabotages)[number]): Promise<{ code: number; output: string }> {
  const args = [
    "--import",
    "./sabotage.ts",
    "./main.ts",
    "--seeds",
    SEEDS,
    "--from",
    String(from),
    "--bare",
    ...(mode === "hard" ? ["--hard"] : []),
  ];
  const options = { cwd: import.meta.dirname, env: { ...process.env, SABOTAGE: name }, timeout: 110_000 };
  return new Promise((resolve) => {
    execFile(process.execPath, args.map(local), options, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code) : 0, output: stdout + stderr });
    });
  });
}

function local(arg: string): string {
  return arg.startsWith("./") ? join(import.meta.dirname, arg) : arg;
}

suite("a Hub without one of its rules fails a seed", { concurrency: 2 }, () => {
  for (const sabotage of sabotages) {
    test(`without it: ${sabotage.name}`, async () => {
      const { code, output } = await seedsWithout(sabotage);
      assert.match(output, /^seed \d+ fails: /, `${SEEDS} seeds did not notice`);
      assert.equal(code, 1);
    });
  }
});
