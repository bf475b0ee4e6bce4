import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { statSync } from "node:fs";
import { test } from "node:test";
import type { Worker } from "node:worker_threads";
import { openSqliteLog, orderOf } from "../../../src/log/index.ts";
import { WriterThread } from "../../../src/log/sqlite/thread.ts";
import { all, entry, freshFile, sql, texts } from "./files.ts";

test("what was appended before a close is settled and kept, what comes after is refused", async () => {
  const file = freshFile();
  const { log, blobs } = await openSqliteLog({ file });
  const pending = Array.from({ length: 300 }, (_, n) => log.append(`c${n}`, 0, entry(`e${n}`, "x")));
  const closed = log.close();
  assert.equal((await Promise.all(pending)).length, 300);
  await closed;
  await log.close();
  for (const late of [
    () => log.append("u", 0, entry("a", "x")),
    () => log.head("u"),
    () => log.trim("u", 1),
    () => log.putBlob("u", Buffer.from("x")),
    () => blobs.create("u").write(Buffer.from("x")),
    () => all(log.readAll(0, ["*"])),
  ])
    await assert.rejects(late, { code: "unavailable", retryable: false });
  const again = await openSqliteLog({ file });
  assert.equal((await all(again.log.cells(["*"]))).length, 300);
  await again.log.close();
});

test("a thread that broke is replaced: what it had not answered is told so, and the same ids find what it had done (LOG-4)", async () => {
  const file = freshFile();
  const thread = new WriterThread({ file, synchronous: "full", maxBytes: undefined });
  await thread.start();
  const append = (cell: string) =>
    thread.post({
      do: "append",
      cell,
      expected: 0,
      id: `e.${cell}`,
      events: '[{"event_type":"x"}]',
      eventCount: 1,
      refs: undefined,
      base: false,
      open: false,
      at: undefined,
    });
  await append("u");
  const pending = ["a", "b", "c"].map(append);
  process.nextTick(() => void (thread as unknown as { worker: Worker }).worker.terminate());
  for (const each of await Promise.allSettled(pending))
    if (each.status === "rejected") {
      const { code, retryable } = each.reason as { code: string; retryable: boolean };
      assert.deepEqual([code, retryable], ["unavailable", true]);
    }
  const places = await Promise.all(["a", "b", "c", "u"].map(append));
  assert.deepEqual(
    places.map(([pos]) => pos),
    [1, 1, 1, 1],
  );
  assert.equal(new Set(places.map(([, number]) => number)).size, 4);
  await thread.close();
  assert.equal(sql<{ n: number }>(file, "SELECT count(*) AS n FROM entries")[0]!.n, 4);
});

test("another program that writes to the file delays a commit, or has it refused until its transaction has ended", async () => {
  const file = freshFile();
  const { log } = await openSqliteLog({ file });
  const { DatabaseSync } = await import("node:sqlite");
  const other = new DatabaseSync(file);
  other.exec("BEGIN IMMEDIATE");
  await assert.rejects(log.append("u", 0, entry("a", "one")), {
    code: "unavailable",
    retryable: true,
    message: /another program is writing to it/,
  });
  other.exec("COMMIT");
  other.close();
  await log.append("u", 0, entry("a", "one"));
  assert.deepEqual(await texts(log.read("u", 0)), ["one"]);
  await log.close();
});

test("a program that leaves a log open ends all the same", () => {
  const file = freshFile();
  const url = new URL("../../../src/log/index.ts", import.meta.url).href;
  const script = `import { openSqliteLog } from "${url}"; const { log } = await openSqliteLog({ file: "${file}" });
    await log.append("u", 0, { id: "a", events: [{ event_type: "x" }] }); console.log("appended");`;
  const out = execFileSync(process.execPath, ["--input-type=module", "-e", script], { timeout: 20_000 });
  assert.equal(String(out), "appended\n");
  assert.equal(sql<{ n: number }>(file, "SELECT count(*) AS n FROM entries")[0]!.n, 1);
});

test("what was written is moved into the file now and then: what lies beside it does not grow with the log", async () => {
  const file = freshFile();
  const { log } = await openSqliteLog({ file });
  for (let n = 0; n < 60; n++)
    await Promise.all(
      Array.from({ length: 20 }, (_, cell) => log.append(`c${cell}`, n, entry(`e${cell}.${n}`, "x".repeat(50_000)))),
    );
  assert.ok(statSync(file).size > 40_000_000);
  assert.ok(statSync(`${file}-wal`).size < 20_000_000, String(statSync(`${file}-wal`).size));
  await log.close();
});

test("room that trimming has freed is used again and given back", async () => {
  const file = freshFile();
  const { log } = await openSqliteLog({ file });
  let pos = 0;
  for (let n = 0; n < 300; n++)
    ({ pos } = await log.append("u", pos, {
      ...entry(`e${n}`, "x".repeat(20_000)),
      ...(n === 299 ? { base: true } : {}),
    }));
  await log.trim("u", pos);
  await log.shrink();
  await log.close();
  assert.ok(sql<{ page_count: number }>(file, "PRAGMA page_count")[0]!.page_count < 30);
  assert.equal(orderOf((await openAndClose(file)).end), 300);
});

async function openAndClose(file: string): Promise<{ end: string }> {
  const { log } = await openSqliteLog({ file });
  const { end } = log;
  await log.close();
  return { end };
}
