/** `node bench/run.ts [measure…] [--rounds 5]`: measures in interleaved rounds, prints tables, writes results/. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import os from "node:os";
import { parseArgs } from "node:util";
import { durable } from "./durable.ts";
import { durableFirst, durableTool, durableToolNormal } from "./durable-turn.ts";
import { fair } from "./fair.ts";
import { first } from "./first.ts";
import { embedded } from "./embedded.ts";
import { idle } from "./idle.ts";
import { idleLog } from "./idle-log.ts";
import { inferChat, inferMessages } from "./infer.ts";
import { inproc } from "./inproc.ts";
import { length } from "./length.ts";
import { many, manyDurable } from "./many.ts";
import { manyHttp } from "./many-http.ts";
import type { Measure } from "./measure.ts";
import { questions } from "./questions.ts";
import { queue } from "./queue.ts";
import { policy } from "./policy.ts";
import { pythonChunks, pythonTool } from "./python.ts";
import { relay } from "./relay.ts";
import { relayHttp } from "./relay-http.ts";
import { reopen, reopenTold } from "./reopen.ts";
import { replay } from "./replay.ts";
import { type Rounds, table } from "./table.ts";
import { idleStreams } from "./streams.ts";
import { tool } from "./tool.ts";
import { toolHttp } from "./tool-http.ts";
import type { Figure } from "./work.ts";

/** A file a goal. */
const MEASURES: Record<string, Measure> = {
  relay,
  tool,
  first,
  many,
  inproc,
  length,
  idle,
  "tool-http": toolHttp,
  "relay-http": relayHttp,
  "many-http": manyHttp,
  streams: idleStreams,
  durable,
  "durable-tool": durableTool,
  "durable-tool-normal": durableToolNormal,
  "durable-first": durableFirst,
  "many-durable": manyDurable,
  open: reopen,
  "open-told": reopenTold,
  "idle-log": idleLog,
  replay,
  questions,
  queue,
  policy,
  fair,
  "python-tool": pythonTool,
  "python-chunks": pythonChunks,
  "infer-chat": inferChat,
  "infer-messages": inferMessages,
  embedded,
};
const DEADLINE_MS = 60_000; // one run of one contender; minutes above what a slow machine needs

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: "string", default: "5" } },
});
const rounds = Number(values.rounds);
if (!Number.isInteger(rounds) || rounds < 1)
  throw new Error(`--rounds ${values.rounds}: give a whole number from 1 up`);
const chosen = (positionals.length ? positionals : Object.keys(MEASURES)).map((name) => {
  const measure = MEASURES[name];
  if (!measure) throw new Error(`no measure "${name}": there are ${Object.keys(MEASURES).join(", ")}`);
  return measure;
});

/** One run of each contender a round; every other round in reverse, so that none always follows the same one. */
async function interleave({ contenders, rounds: most = rounds }: Measure): Promise<Rounds> {
  const results: Rounds = [];
  for (let round = 0; round < Math.min(rounds, most); round++) {
    const row: Array<Figure | Error> = [];
    const order = contenders.map((contender, index) => ({ contender, index }));
    for (const { contender, index } of round % 2 ? order.reverse() : order) {
      process.stderr.write(`round ${round + 1}: ${contender.name}\n`);
      row[index] = await contender
        .measure(AbortSignal.timeout(DEADLINE_MS))
        .catch((error: unknown) => (error instanceof Error ? error : new Error(String(error))));
    }
    results.push(row);
  }
  return results;
}

type Package = { version: string; devDependencies: Record<string, string> };
const read = (path: string) => JSON.parse(readFileSync(new URL(path, import.meta.url), "utf8")) as Package;
const about = {
  date: new Date().toISOString(),
  node: process.version,
  cpu: `${os.cpus()[0]?.model ?? "unknown"} × ${os.availableParallelism()}`,
  platform: `${os.platform()} ${os.release()} ${os.arch()}`,
  packages: { bytebot: read("../packages/bytebot/package.json").version, ...read("package.json").devDependencies },
};

let failed = false;
const measures = [];
for (const measure of chosen) {
  const results = await interleave(measure);
  console.log(`\n## ${measure.title}\n\n${table(measure, results)}`);
  for (const [index, { name }] of measure.contenders.entries()) {
    const errors = results.map((row) => row[index]).filter((figure) => figure instanceof Error);
    if (errors.length) console.error(`${name} failed in ${errors.length} of ${results.length} rounds:`, errors[0]);
    failed ||= errors.length > 0;
  }
  measures.push({
    title: measure.title,
    contenders: measure.contenders.map(({ name, role }, index) => ({
      name,
      role,
      rounds: results.map((row) => (row[index] instanceof Error ? { error: row[index].message } : row[index])),
    })),
  });
}

console.log(`\nNode ${about.node}, ${about.cpu}, ${about.platform}; ${rounds} rounds at most.`);
console.log(
  Object.entries(about.packages)
    .map(([name, version]) => `${name} ${version}`)
    .join(", "),
);
const results = new URL("results/", import.meta.url);
mkdirSync(results, { recursive: true });
const file = new URL(`${about.date.replaceAll(":", "-")}.json`, results);
writeFileSync(file, JSON.stringify({ ...about, measures }, null, 2) + "\n");
console.log(`Written: ${file.pathname}`);
if (failed) process.exitCode = 1; // a contender that could not run; never a slow one
