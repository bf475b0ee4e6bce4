import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { ByteBot } from "../../src/app/bytebot.ts";
import { openSqliteLog, type Entry } from "../../src/log/index.ts";
import * as bb from "../../src/sdk/index.ts";

const timeout = 300_000;
const [TURNS, BLOCKS] = [50, 2000];
const retention = { events: Infinity, bytes: Infinity };
const quiet = { report: () => undefined, retention };

/** Says so many words, each a block of its own; `shown`: the texts of the newest request. */
function wordy(shown: { texts: string[] }, blocks: number) {
  const main: bb.Main = async () => {
    const satellite = await bb.sync({ kind: "infer" });
    satellite.onInfer(async ({ messages }, reply) => {
      const texts = messages.flatMap(({ content }) =>
        content.map((block) => ("text" in block ? String(block.text) : "")),
      );
      shown.texts = texts;
      for (let n = 0; n < blocks; n++) {
        reply.block({ type: "text", text: `w${n}` });
        if (n % 100 === 0) await satellite.drained();
      }
      return { stop_reason: "end_turn" };
    });
    await satellite.start();
  };
  return { main, kind: "infer" as const, name: "wordy" };
}

async function ask(hub: ByteBot, text: string): Promise<void> {
  const ends = hub.events("u", { types: ["infer_chunk"] });
  await hub.send("u", text);
  for await (const { kind } of ends) if (kind === "loop_done") break;
}

test(
  "a scope of 100,000 events opens by reading a small part of them, answers from all that was said, and shows its newest (REC-1, LOG-5, RPL-5, hard case 34)",
  { timeout },
  async (t) => {
    const folder = mkdtempSync(join(tmpdir(), "bytebot-large-"));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const file = join(folder, "log.db");
    const shown = { texts: [] as string[] };
    {
      await using hub = await ByteBot.open({ file, ...quiet });
      hub.attachInfer(wordy(shown, BLOCKS));
      await hub.start();
      for (let turn = 1; turn <= TURNS; turn++) await ask(hub, `question ${turn}`);
    }
    const kept = await openSqliteLog({ file });
    let read = 0;
    const readBack = kept.log.readBack.bind(kept.log);
    kept.log.readBack = async function* (...args): AsyncGenerator<Entry> {
      for await (const entry of readBack(...args)) {
        read += entry.events.length;
        yield entry;
      }
    };
    let events = 0;
    for await (const cell of kept.log.cells(["*"])) events += cell.events;
    assert.ok(events > 100_000, String(events));
    await using hub = new ByteBot({ ...kept, ...quiet });
    hub.attachInfer(wordy(shown, 1));
    await hub.start();
    assert.equal(read, 0, "nothing was under way, so nothing is read at the start");
    await ask(hub, "and now?");
    assert.ok(read > 0 && read < events / 10, `${read} of ${events} events were read`);
    assert.equal(shown.texts.filter((text) => text.startsWith("w")).length, TURNS * BLOCKS);
    assert.equal(shown.texts.at(-1), "and now?");
    const before = read;
    const page: bb.Main = async () => {
      const ui = await bb.sync({ kind: "ui" });
      void ui.start();
      const { events: newest } = await ui.request({ event_type: "bb_history_request", scope: "u", limit: 20 });
      assert.equal((newest as bb.Event[]).length, 20);
      assert.equal((newest as bb.Event[]).at(-1)!["kind"], "loop_done");
      await ui.close();
    };
    await hub.attach({ main: page, kind: "ui", name: "page" }).ended;
    assert.ok(read > before && read - before < 1000, `${read - before} events were read for a page of 20`);
  },
);
