/**
 * Changes the sources one place at a time and runs their tests: a change that no test notices is printed. A file's score is
 * the part of its changes that were noticed; below 85 % it fails. `npm run mutate [-- PART_OF_A_FILE_NAME…]`.
 */
import { spawn } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { equivalents } from "./mutation/equivalent.ts";
import { mutantsOf, type Mutant } from "./mutation/mutants.ts";

const GOAL = 0.85;
/** A change may make a loop endless. */
const TIMEOUT_MS = 60_000;
const root = join(import.meta.dirname, "..");
const source = "packages/bytebot/src";
const tests = "packages/bytebot/test";

const targets = [
  { files: `${source}/wire/framer.ts`, tests: [`${tests}/wire/framer.test.ts`] },
  { files: `${source}/wire/scope.ts`, tests: [`${tests}/wire/scope.test.ts`] },
  {
    files: `${source}/hub/grants.ts`,
    tests: [`${tests}/hub/grants.test.ts`],
  },
  {
    files: `${source}/wire/xml/*.ts`,
    tests: [
      `${tests}/wire/xml/parser.test.ts`,
      `${tests}/wire/xml/write.test.ts`,
      `${tests}/wire/xml/roundtrip.test.ts`,
    ],
  },
];

/** Changes nothing: its tests have to pass. */
const none: Mutant = { start: 0, end: 0, to: "", line: 1 };

const wanted = process.argv.slice(2);
let failed = false;
for (const target of targets) {
  for (const file of globSync(target.files, { cwd: root }).toSorted()) {
    if (wanted.length > 0 && !wanted.some((part) => file.includes(part))) continue;
    const score = await scoreOf(file, target.tests);
    failed ||= score < GOAL;
  }
}
process.exitCode = failed ? 1 : 0;

async function scoreOf(file: string, testFiles: readonly string[]): Promise<number> {
  const text = readFileSync(join(root, file), "utf8");
  const all = await mutantsOf(text);
  const counted = all.filter((mutant) => !isEquivalent(file, text, mutant));
  if (await isNoticed(file, none, testFiles)) throw new Error(`the tests of ${file} fail as it is: mend them first`);
  const left = [...counted];
  const survived: Mutant[] = [];
  const worker = async (): Promise<void> => {
    for (let mutant = left.shift(); mutant; mutant = left.shift())
      if (!(await isNoticed(file, mutant, testFiles))) survived.push(mutant);
  };
  await Promise.all(Array.from({ length: availableParallelism() }, worker));
  const score = counted.length === 0 ? 1 : 1 - survived.length / counted.length;
  const equivalent = all.length - counted.length;
  console.log(
    `${(score * 100).toFixed(1).padStart(5)} %  ${file}  ${counted.length - survived.length} of ${counted.length}${equivalent === 0 ? "" : `, ${equivalent} equivalent`}`,
  );
  for (const { line, start, end, to } of survived.toSorted((a, b) => a.start - b.start)) {
    console.log(`         ${line}: ${JSON.stringify(text.slice(start, end).slice(0, 60))} → ${JSON.stringify(to)}`);
  }
  return score;
}

function isEquivalent(file: string, text: string, { start, end, to, line }: Mutant): boolean {
  const code = text.split("\n")[line - 1]!.trim();
  return equivalents.some(
    (each) => file.endsWith(each.file) && each.code === code && each.from === text.slice(start, end) && each.to === to,
  );
}

/** Does a test fail, or run without an end, with this change? */
function isNoticed(file: string, mutant: Mutant, testFiles: readonly string[]): Promise<boolean> {
  const url = pathToFileURL(join(root, file)).href;
  const args = [
    "--disable-warning=ExperimentalWarning",
    ...["--import", "./scripts/mutation/load.ts"],
    ...["--test", "--test-isolation=none", "--test-reporter=./scripts/mutation/bail.ts", ...testFiles],
  ];
  const env = { ...process.env, BYTEBOT_MUTANT: JSON.stringify({ url, ...mutant }) };
  const child = spawn(process.execPath, args, {
    cwd: root,
    env,
    stdio: "ignore",
    timeout: TIMEOUT_MS,
    killSignal: "SIGKILL",
  });
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("exit", (code) => resolve(code !== 0));
  });
}
