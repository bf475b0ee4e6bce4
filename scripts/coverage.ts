/**
 * Which branches of the wire and the Hub the tests take: `npm run coverage [-- --json] [-- --missed PART_OF_A_FILE_NAME]`.
 * Runs the tests that load these sources, and fails where one of the two folders is below 95 % of branches. A file that no
 * test loads counts, with 0 %. What a branch is: coverage/branches.ts.
 */
import { globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { runnableOf, type Branch } from "./coverage/branches.ts";
import { Counts } from "./coverage/counts.ts";
import { runNode } from "./run.ts";

const GOAL = 0.95;
const DEADLINE_MS = 10 * 60_000;
const FOLDERS = ["wire", "hub"];
/** Those in which the sources run in the tests' own process. A child runs what was built, which counts for nothing here. */
const TESTS = ["{wire,hub,log,app}/**/*.test.ts", "spec/{bounded,slow,wire}.test.ts", "sim/{sim,sim-hard}.test.ts"].map(
  (files) => `test/${files}`,
);

interface Share {
  taken: number;
  all: number;
}

interface FileReport {
  file: string;
  loaded: boolean;
  branches: Share;
  lines: Share;
  /** `line: what` of each branch that no test takes. */
  missed: string[];
}

const { values } = parseArgs({
  options: { json: { type: "boolean", default: false }, missed: { type: "string" } },
});
const root = join(import.meta.dirname, "../packages/bytebot");
const src = join(root, "src");
const counts = await measure();

const reports: FileReport[] = [];
for (const folder of FOLDERS)
  for (const file of globSync(`${folder}/**/*.ts`, { cwd: src }).toSorted()) reports.push(await reportOf(file));
const folders = FOLDERS.map((folder) => {
  const files = reports.filter(({ file }) => file.startsWith(`${folder}/`));
  return { folder, branches: sum(files.map((each) => each.branches)), lines: sum(files.map((each) => each.lines)) };
});

if (values.json) console.log(JSON.stringify({ goal: GOAL, folders, files: reports }, undefined, 2));
else print();
const below = folders.filter(({ branches }) => shareOf(branches) < GOAL);
for (const { folder, branches } of below)
  console.error(
    `${folder}: ${percent(branches)} of branches, and ${GOAL * 100} % is the least: see --missed ${folder}/`,
  );
process.exitCode = below.length === 0 ? 0 : 1;

async function measure(): Promise<Counts> {
  const folder = mkdtempSync(join(tmpdir(), "bytebot-coverage-"));
  try {
    process.env["NODE_V8_COVERAGE"] = folder;
    const threads = join(import.meta.dirname, "coverage/workers.ts");
    const args = ["--import", threads, "--test-concurrency=2", "--test-timeout=120000", "--test", ...TESTS];
    const { ok, output } = await runNode(args, DEADLINE_MS, root);
    const failures = output.slice(Math.max(0, output.indexOf("failing tests:")));
    if (!ok) throw new Error(`the tests fail: mend them first\n${failures}`);
    return new Counts(folder, (file) => file.startsWith(src));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function reportOf(file: string): Promise<FileReport> {
  const path = join(src, file);
  const { branches, statements } = await runnableOf(readFileSync(path, "utf8"));
  const at = (place: number): number => counts.at(path, place);
  const isTaken = (branch: Branch): boolean => at(branch.at) - (branch.less === undefined ? 0 : at(branch.less)) > 0;
  const lines = new Map<number, boolean>();
  for (const { line, at: place } of statements) lines.set(line, (lines.get(line) ?? false) || at(place) > 0);
  const missed = branches.filter((branch) => !isTaken(branch));
  return {
    file,
    loaded: counts.isLoaded(path),
    branches: { taken: branches.length - missed.length, all: branches.length },
    lines: { taken: [...lines.values()].filter(Boolean).length, all: lines.size },
    missed: missed.map(({ line, what }) => `${line}: ${what}`),
  };
}

function print(): void {
  for (const { file, loaded, branches, lines, missed } of reports) {
    if (values.missed !== undefined && !file.includes(values.missed)) continue;
    console.log(`${row(file, branches, lines)}${loaded || lines.all === 0 ? "" : "  no test loads it"}`);
    if (values.missed !== undefined) for (const each of missed) console.log(`    ${file}:${each}`);
  }
  for (const { folder, branches, lines } of folders) console.log(row(folder, branches, lines));
}

function row(name: string, branches: Share, lines: Share): string {
  const share = (of: Share): string => `${percent(of).padStart(8)} ${`${of.taken}/${of.all}`.padStart(10)}`;
  return `${name.padEnd(32)} branches ${share(branches)}   lines ${share(lines)}`;
}

function sum(shares: readonly Share[]): Share {
  return shares.reduce((a, b) => ({ taken: a.taken + b.taken, all: a.all + b.all }), { taken: 0, all: 0 });
}

function shareOf({ taken, all }: Share): number {
  return all === 0 ? 1 : taken / all;
}

function percent(share: Share): string {
  return `${(shareOf(share) * 100).toFixed(1)} %`;
}
