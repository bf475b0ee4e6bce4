import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { cellOf, validate, type Event } from "../../src/wire/index.ts";
import { checkLog } from "../hub/invariants.ts";
import { findInOrder, parseLines } from "../matcher.ts";
import { normal, of, transcript } from "./normal.ts";
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

suite("in-proc, each script yields its transcript, to the byte (FRM-10)", () => {
  for (const script of scripts) {
    test(script.name, async () => {
      const recording = await inProc.get(script)!;
      assert.deepEqual(recording.reports, []);
      for (const { event } of recording.lines) {
        // A copy may be without what its type needs: it is bare (rule KND-4).
        if (event["observed"] !== true) assert.doesNotThrow(() => validate(event), JSON.stringify(event));
      }
      assert.equal(
        transcript(script, recording),
        golden(script.name),
        "run npm run generate, and look at what differs",
      );
      const cells = Map.groupBy(recording.log, ({ scope }) => cellOf(scope as string));
      checkLog([...cells].map(([cell, events]) => ({ cell, events, id: "all", pos: 1, cursor: "", at: 0 })));
    });
  }
});

for (const way of ways.filter((way) => way !== "in-proc")) {
  suite(`over ${way}, each connection carries the same, and the log is the same (CON-1)`, { concurrency }, () => {
    for (const script of scripts.filter(({ cast }) => cast.every((role) => !role.behind))) {
      test(script.name, async () => {
        const recording = await play(script, way, children);
        assert.deepEqual(recording.reports, []);
        const [found, wanted] = [normal(script, recording), normal(script, await inProc.get(script)!)];
        for (const { name } of script.cast) {
          assert.deepEqual(of(found.lines, name, "sent"), of(wanted.lines, name, "sent"), `what ${name} sent`);
          const [got, expected] = [of(found.lines, name, "got"), of(wanted.lines, name, "got")];
          assert.deepEqual(got.filter(isAnswer), expected.filter(isAnswer), `what ${name} was answered`);
          assert.deepEqual(got.filter(isEvent), expected.filter(isEvent), `what ${name} got`);
        }
        assert.deepEqual(found.log, wanted.log);
      });
    }
  });
}

suite("one-turn.jsonl, the shortest whole turn, is in the trace of a turn", () => {
  for (const way of ways) {
    test(`over ${way}`, async () => {
      const [twoRounds] = scripts;
      const { trace } = way === "in-proc" ? await inProc.get(twoRounds!)! : await play(twoRounds!, way, children);
      assert.ok(findInOrder(parseLines(golden("one-turn")), trace), JSON.stringify(trace));
    });
  }
});

/** Over HTTP these come as the answer of an inbox: in their order, but beside the stream. */
function isAnswer({ event_type }: Event): boolean {
  return event_type === "bb_ack" || event_type === "bb_error";
}

function isEvent(event: Event): boolean {
  return !isAnswer(event);
}
