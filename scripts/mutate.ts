/**
 * Changes the sources one place at a time and runs their tests: a change that no test notices is printed. A file's score is
 * the part of its changes that were noticed; below 85 % it fails. `npm run mutate [-- PART_OF_A_FILE_NAME…]`.
 */
import { fork, type ChildProcess } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Job } from "./mutation/child.ts";
import { equivalents } from "./mutation/equivalent.ts";
import { importersOf } from "./mutation/imports.ts";
import { mutantsOf, type Mutant } from "./mutation/mutants.ts";

const GOAL = 0.85;
/** How much longer than without a change the tests may take before a loop counts as endless. */
const PATIENCE = 3;
const LEAST_MS = 10_000;
/** Modules that were loaded stay in memory. */
const TRIES_A_CHILD = 300;
const root = join(import.meta.dirname, "..");
const folder = join(root, "packages/bytebot");

const targets = [
  { files: "src/wire/framer.ts", tests: ["test/wire/framer.test.ts"] },
  { files: "src/wire/scope.ts", tests: ["test/wire/scope.test.ts"] },
  { files: "src/hub/grants.ts", tests: ["test/hub/grants.test.ts"] },
  {
    files: "src/wire/xml/*.ts",
    tests: ["test/wire/xml/parser.test.ts", "test/wire/xml/write.test.ts", "test/wire/xml/roundtrip.test.ts"],
  },
];

/** Changes nothing: the tests have to pass, and say how long they take. */
const none: Mutant = { start: 0, end: 0, to: "", line: 1 };

const wanted = process.argv.slice(2);
for (const target of targets) {
  const tests = target.tests.map((file) => join(folder, file));
  for (const name of globSync(target.files, { cwd: folder }).toSorted()) {
    const file = join(folder, name);
    if (wanted.length > 0 && !wanted.some((part) => name.includes(part))) continue;
    const score = await scoreOf(name, { file, tests, importers: importersOf(file, folder) });
    if (score < GOAL) process.exitCode = 1;
  }
}

async function scoreOf(name: string, job: Job): Promise<number> {
  const text = readFileSync(job.file, "utf8");
  const all = await mutantsOf(text);
  const counted = all.filter((mutant) => !isEquivalent(name, text, mutant));
  const survived = await survivors(counted, job);
  const score = counted.length === 0 ? 1 : 1 - survived.length / counted.length;
  const equivalent = all.length - counted.length;
  const note = equivalent === 0 ? "" : `, ${equivalent} equivalent`;
  const noticed = counted.length - survived.length;
  console.log(`${(score * 100).toFixed(1).padStart(5)} %  ${name}  ${noticed} of ${counted.length}${note}`);
  for (const { line, start, end, to } of survived) {
    console.log(`         ${line}: ${JSON.stringify(text.slice(start, end).slice(0, 60))} → ${JSON.stringify(to)}`);
  }
  return score;
}

async function survivors(mutants: readonly Mutant[], job: Job): Promise<Mutant[]> {
  const survived: Mutant[] = [];
  let child: ChildProcess | undefined;
  let patience = 0;
  for (const [index, mutant] of mutants.entries()) {
    if (index % TRIES_A_CHILD === 0) {
      child?.kill("SIGKILL");
      child = undefined;
    }
    if (!child) {
      child = start(job);
      const began = performance.now();
      if (await isNoticed(child, none, 120_000))
        throw new Error(`the tests of ${job.file} fail as it is: mend them first`);
      patience = Math.max(LEAST_MS, PATIENCE * (performance.now() - began));
    }
    if (!(await isNoticed(child, mutant, patience))) survived.push(mutant);
    if (child.exitCode !== null || child.signalCode !== null) child = undefined;
  }
  child?.kill("SIGKILL");
  return survived;
}

function start(job: Job): ChildProcess {
  const options = { cwd: root, stdio: ["ignore", "ignore", "ignore", "ipc"] as ("ignore" | "ipc")[] };
  return fork(join(root, "scripts/mutation/child.ts"), [JSON.stringify(job)], options);
}

/** Does a test fail, the process end, or nothing come back in time? In the last two cases the child is gone. */
function isNoticed(child: ChildProcess, mutant: Mutant, patience: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => child.kill("SIGKILL"), patience);
    const settle = (noticed: boolean): void => {
      clearTimeout(timer);
      child.removeAllListeners();
      resolve(noticed);
    };
    child.once("exit", () => settle(true));
    child.once("message", (answer) => settle((answer as { noticed: boolean }).noticed));
    child.send(mutant);
  });
}

function isEquivalent(name: string, text: string, { start: from, end, to, line }: Mutant): boolean {
  const code = text.split("\n")[line - 1]!.trim();
  return equivalents.some(
    (each) => name.endsWith(each.file) && each.code === code && each.from === text.slice(from, end) && each.to === to,
  );
}
