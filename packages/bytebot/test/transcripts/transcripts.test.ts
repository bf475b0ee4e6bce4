import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { openSqliteLog } from "../../src/log/index.ts";
import { cellOf, validate } from "../../src/wire/index.ts";
import { checkLog } from "../hub/invariants.ts";
import { findInOrder, parseLines } from "../matcher.ts";
import { lanes, logOf, transcript } from "./normal.ts";
import type { Script } from "./script.ts";
import { scripts } from "./scripts/index.ts";
import { play, ways, type Recording } from "./ways.ts";

const folder = join(import.meta.dirname, "../../../../spec/transcripts");
const golden = (name: string): string => readFileSync(join(folder, `${name}.jsonl`), "utf8");

/** At once: more would only wait for each other. */
const concurrency = 4;

const inProc = new Map<Script, Promise<Recording>>(scripts.map((script) => [script, play(script, "in-proc")]));
for (const run of inProc.values()) run.catch(() => undefined);

let children: string;
before(async () => void (children = await mkdtemp(join(tmpdir(), "bytebot-transcripts-"))));
after(() => rm(children, { recursive: true, force: true }));

for (const way of ways) {
  suite(
    `${way}: each connection carries its transcript, and the log is the same (CON-1, FRM-10)`,
    { concurrency },
    () => {
      for (const script of scripts) {
        if (way !== "in-proc" && script.cast.some((role) => role.behind)) continue;
        test(script.name, async () => {
          const inProcess = await inProc.get(script)!;
          const recording = way === "in-proc" ? inProcess : await play(script, way, children);
          const unexpected = recording.reports.filter((line) => !script.reports?.test(line));
          assert.deepEqual(unexpected, []);
          const found = lanes(transcript(script, recording));
          assert.deepEqual(found, lanes(golden(script.name)), "where that is meant: npm run generate");
          assert.deepEqual(logOf(script, recording), logOf(script, inProcess));
        });
      }
    },
  );
}

suite(
  "with the log on disk it comes to the same log, over the shortest way and the longest (LOG-2, DUR-1)",
  { concurrency: 2 },
  () => {
    for (const way of ["in-proc", ways.at(-1)!] as const) {
      for (const script of scripts) {
        if (way !== "in-proc" && script.cast.some((role) => role.behind)) continue;
        test(`${script.name}, ${way}`, async () => {
          const { log } = await openSqliteLog({
            file: join(children, `${script.name}-${way.replaceAll(/\W/g, "")}.db`),
          });
          const recording = await play(script, way, children, log);
          assert.deepEqual(
            recording.reports.filter((line) => !script.reports?.test(line)),
            [],
          );
          assert.deepEqual(logOf(script, recording), logOf(script, await inProc.get(script)!));
        });
      }
    }
  },
);

suite("what a script leads to", () => {
  for (const script of scripts) {
    test(`${script.name}: events of their types, and a legal log`, async () => {
      const { lines, log } = await inProc.get(script)!;
      for (const { event } of lines) {
        // A copy may be without what its type needs: it is bare (rule KND-4).
        if (event["observed"] !== true) assert.doesNotThrow(() => validate(event), JSON.stringify(event));
      }
      const cells = Map.groupBy(log, ({ scope }) => cellOf(scope as string));
      checkLog([...cells].map(([cell, events]) => ({ cell, events, id: "all", pos: 1, cursor: "", at: 0 })));
      assert.equal(cells.size, 1);
    });
  }
});

suite("one-turn.jsonl, the shortest whole turn, is in the trace of a turn", () => {
  for (const way of ways) {
    test(`over ${way}`, async () => {
      const [twoRounds] = scripts;
      const { trace } = way === "in-proc" ? await inProc.get(twoRounds!)! : await play(twoRounds!, way, children);
      assert.ok(findInOrder(parseLines(golden("one-turn")), trace), JSON.stringify(trace));
    });
  }
});
