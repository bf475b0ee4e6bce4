/**
 * Everything a change must pass, one line a step; a step that fails shows its output. The last line is
 * "N passed, N failed": each test counts, and each other step as one. `--fast` leaves the tests and their coverage out.
 */
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs, stripVTControlCharacters } from "node:util";
import { runNode, type Outcome } from "./run.ts";

const STEP_MS = 5 * 60_000;
const TESTS_MS = 15 * 60_000;
const COVERAGE_MS = 10 * 60_000;

interface Count {
  passed: number;
  failed: number;
  note?: string;
}

interface Step {
  name: string;
  args: string[];
  deadlineMs?: number;
  count?: (outcome: Outcome) => Count;
}

const root = join(import.meta.dirname, "..");
process.chdir(root);
const { values } = parseArgs({ options: { fast: { type: "boolean", default: false } } });

const bin = {
  tsc: "node_modules/typescript/bin/tsc",
  oxlint: "node_modules/oxlint/bin/oxlint",
  prettier: "node_modules/prettier/bin/prettier.cjs",
  publint: "node_modules/publint/src/cli.js",
};
const absent = Object.values(bin).filter((file) => !existsSync(file));
if (absent.length > 0) throw new Error(`${absent.join(", ")} is missing: run npm ci first`);

const packages = globSync("{packages,satellites}/*/package.json").sort();

const steps: Step[] = [
  { name: "generated files", args: ["scripts/generate.ts", "--check"] },
  { name: "build", args: [bin.tsc, "-b"] },
  { name: "types of tests", args: [bin.tsc, "-p", "tsconfig.tests.json"] },
  // The bench has a lock file of its own, which npm ci leaves alone.
  ...(existsSync("bench/node_modules") ? [{ name: "types of bench", args: [bin.tsc, "-p", "bench"] }] : []),
  { name: "lint", args: [bin.oxlint, "--type-aware", "--deny-warnings"] },
  { name: "format", args: [bin.prettier, "--check", "."] },
  ...(values.fast
    ? []
    : [
        { name: "tests", args: testArgs(), deadlineMs: TESTS_MS, count: countTests },
        { name: "coverage", args: ["scripts/coverage.ts"], deadlineMs: COVERAGE_MS },
      ]),
  { name: "examples", args: ["scripts/examples.ts"] },
  ...packages.map((file) => {
    const folder = file.slice(0, -"/package.json".length);
    return { name: `package ${folder}`, args: [bin.publint, folder, "--strict"] };
  }),
];

let passed = 0;
let failed = 0;
for (const { name, args, deadlineMs = STEP_MS, count = countOne } of steps) {
  const outcome = await runNode(args, deadlineMs);
  const counted = count(outcome);
  passed += counted.passed;
  failed += counted.failed;
  const state = counted.failed === 0 ? "ok  " : "FAIL";
  console.log(`${state} ${name} ${(outcome.took / 1000).toFixed(1)} s${counted.note ? ` (${counted.note})` : ""}`);
  if (counted.failed > 0) console.log(outcome.output.trimEnd());
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

/** Those of "npm test", which builds first as the steps before have done. */
function testArgs(): string[] {
  const { scripts } = JSON.parse(readFileSync("package.json", "utf8")) as { scripts: { test: string } };
  const command = scripts.test.split(" && ").at(-1) ?? "";
  return command
    .replace(/^node /, "")
    .replaceAll('"', "")
    .split(" ");
}

function countOne({ ok }: Outcome): Count {
  return ok ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 };
}

/** From the summary node:test prints ("ℹ pass 3" or "# pass 3"); a run without one, or without a test, has failed. */
function countTests({ ok, output }: Outcome): Count {
  const of = (name: string) => {
    const lines = [...stripVTControlCharacters(output).matchAll(new RegExp(`^(?:ℹ|#) ${name} (\\d+)$`, "gm"))];
    return Number(lines.at(-1)?.[1] ?? 0);
  };
  const pass = of("pass");
  const fail = of("fail") + of("cancelled");
  const note = `${pass} passed, ${fail} failed, ${of("skipped")} skipped`;
  return { passed: pass, failed: fail > 0 ? fail : ok && pass > 0 ? 0 : 1, note };
}
