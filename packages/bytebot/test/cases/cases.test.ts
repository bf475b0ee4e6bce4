import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { cutAfter } from "../hub/restart.ts";
import type { Script } from "../transcripts/script.ts";
import { play, ways, type Recording } from "../transcripts/ways.ts";
import { single } from "./index.ts";
import { restarts } from "./restarts.ts";
import { strangers } from "./wall.ts";

/** One more way of HTTP is another spelling of the same stream, which the transcripts have. */
const carried = ways.filter((way) => !way.endsWith("as SSE"));
/** At once: more would only wait for each other. */
const concurrency = 3;

let folder: string;
before(async () => void (folder = await mkdtemp(join(tmpdir(), "bytebot-cases-"))));
after(() => rm(folder, { recursive: true, force: true }));

/** What besides holds of all that its satellites got. */
const also: Partial<Record<string, (recording: Recording) => void>> = {
  "case-36-spellings": ({ lines }) => {
    const victim = lines.filter(({ role, way }) => role === "victim" && way === "got").map(({ event }) => event);
    assert.deepEqual(
      victim.map(({ event_type }) => event_type).filter((type) => type !== "bb_bye"),
      ["bb_sync_ack", "bb_live"],
      "nothing got there",
    );
  },
  "case-37-canaries": ({ lines, log, reports }) => {
    const got = lines.filter(({ way }) => way === "got").map(({ event }) => event);
    assert.deepEqual(strangers([...got, ...log]), []);
    const narrow = lines.filter(({ role, event }) => role === "narrow" && event["scope"] !== undefined);
    assert.ok(narrow.length > 0 && narrow.every(({ event }) => event["scope"] === "u_7/c_1"));
    assert.doesNotMatch(reports.join("\n"), /canary/);
  },
};

for (const way of carried) {
  suite(`hard cases ${way}`, { concurrency }, () => {
    for (const script of single) {
      test(`${script.about} (hard case ${numberOf(script)})`, async () => {
        const recording = await play(script, way, folder);
        if (!script.reports) assert.deepEqual(recording.reports, []);
        also[script.name]?.(recording);
      });
    }
    for (const [first, second] of restarts) {
      test(`${first.about} ${second.about} (hard case ${numberOf(first)})`, async () => {
        const { kept } = await play(first, way, folder);
        await play(second, way, folder, await cutAfter(kept, kept.length));
      });
    }
  });
}

function numberOf({ name }: Script): string {
  return name.split("-")[1]!;
}
