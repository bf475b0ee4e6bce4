import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { test } from "node:test";
import { openSqliteLog, withLargeEvents, type NewEntry } from "../../../src/log/index.ts";
import { verifySqlite } from "../../../src/log/sqlite/verify.ts";
import { entry, freshFile } from "./files.ts";

/** Which of the log's files have these words, as any tool would find them. */
function filesWith(file: string, words: string): string[] {
  const folder = dirname(file);
  const own = readdirSync(folder).filter((name) => name.startsWith(basename(file)) && !name.endsWith("-lock"));
  return own.filter((name) => readFileSync(join(folder, name)).includes(words));
}

test("of a wiped cell no word is left in the file, what lies beside it or a blob; other cells keep theirs (CVS-5)", async () => {
  const file = freshFile();
  const { log, blobs } = await openSqliteLog({ file });
  const whole = withLargeEvents(log);
  const heads = new Map<string, number>();
  let entries = 0;
  const say = async (cell: string, text: string, more: Partial<NewEntry> = {}): Promise<number> => {
    const { pos } = await whole.append(cell, heads.get(cell) ?? 0, { ...entry(`e${++entries}`, text), ...more });
    heads.set(cell, pos);
    return pos;
  };
  const put = async (cell: string, text: string): Promise<string> => {
    const ref = `sha256-${createHash("sha256").update(text).digest("hex")}`;
    const writer = blobs.create(cell);
    await writer.write(Buffer.from(text));
    await writer.commit(ref, "text/plain");
    return ref;
  };
  // Between those of others, of every size, as pages are shared and split; some of it trimmed before.
  for (let n = 0; n < 300; n++) {
    await say("u/a", `canary ${"x".repeat((n * 37) % 3000)}`, n === 0 ? { about: { title: "canary" } } : {});
    await say(`u/${n % 7}`, `kept ${"y".repeat((n * 53) % 2000)}`);
    if (n % 60 === 0) await say("u/a", `canary ${"canary".repeat(20_000)}`);
    if (n === 150) await log.trim("u/a", await say("u/a", "canary base", { base: true }));
  }
  await put("u/a", `canary ${"canary".repeat(50_000)}`);
  const kept = await put("u/1", "kept bytes");
  assert.ok(filesWith(file, "canary").length > 0);
  await say("u/a", "gone", { base: true, wipe: true, about: { deleted: true } });
  // Some at a time, so that others write in between; a log that was cut off does it when it is opened.
  await blobs.drop("u/a");
  assert.deepEqual(filesWith(file, "canary"), [], "while it is open");
  assert.deepEqual(filesWith(file, "kept").length, 1);
  assert.equal((await blobs.find("u/1", kept))!.size, "kept bytes".length);
  assert.equal((await log.cells(["*"])[Symbol.asyncIterator]().next()).done, false);
  await log.close();
  assert.deepEqual(filesWith(file, "canary"), [], "when it is closed");
  assert.deepEqual([...verifySqlite(file)], []);
});

test("the room that the blobs of a wiped cell took is free for the tenant's next (CVS-5, BLB-4)", async () => {
  const { log, blobs } = await openSqliteLog({ file: freshFile(), quota: { tenantBytes: 10_000, totalBytes: 10_000 } });
  const put = async (cell: string, ref: string): Promise<void> => {
    const writer = blobs.create(cell);
    try {
      await writer.write(new Uint8Array(6000));
      await writer.commit(ref, "text/plain");
    } catch (error) {
      await writer.discard();
      throw error;
    }
  };
  const first = await log.append("u/a", 0, entry("a", "one"));
  await put("u/a", "sha256-1");
  await assert.rejects(put("u/b", "sha256-2"), { code: "overloaded" });
  await log.append("u/a", first.pos, { ...entry("b", "gone"), base: true, wipe: true });
  await put("u/b", "sha256-2");
  await blobs.drop("u/b");
  await put("u/c", "sha256-3");
  await log.close();
});

test("a blob that is kept since the wipe stays when what was wiped is dropped (CVS-5, BLB-6)", async () => {
  const { log, blobs } = await openSqliteLog({ file: freshFile(), quota: { tenantBytes: 10_000, totalBytes: 10_000 } });
  const put = async (cell: string, ref: string): Promise<void> => {
    const writer = blobs.create(cell);
    await writer.write(new Uint8Array(4000));
    await writer.commit(ref, "text/plain");
  };
  const first = await log.append("u/a", 0, entry("a", "one"));
  await put("u/a", "sha256-1");
  const gone = await log.append("u/a", first.pos, { ...entry("b", "gone"), base: true, wipe: true });
  await put("u/a", "sha256-2");
  await blobs.drop("u/a");
  assert.equal(await blobs.find("u/a", "sha256-1"), undefined);
  assert.equal((await blobs.find("u/a", "sha256-2"))?.size, 4000);
  await put("u/b", "sha256-3");
  await log.append("u/a", gone.pos, { ...entry("c", "gone again"), base: true, wipe: true });
  await blobs.drop("u/a");
  assert.equal(await blobs.find("u/a", "sha256-2"), undefined);
  await put("u/b", "sha256-4");
  await log.close();
});

test("what a wiped cell had of blobs is gone also where the Hub was cut off before it had done that (CVS-5)", async () => {
  const file = freshFile();
  const { log, blobs } = await openSqliteLog({ file });
  const first = await log.append("u/a", 0, entry("a", "one"));
  const text = "canary ".repeat(100_000);
  const writer = blobs.create("u/a");
  await writer.write(Buffer.from(text));
  const ref = `sha256-${createHash("sha256").update(text).digest("hex")}`;
  await writer.commit(ref, "text/plain");
  await log.append("u/a", first.pos, { ...entry("b", "gone"), base: true, wipe: true });
  assert.equal(await blobs.find("u/a", ref), undefined);
  await log.close();
  assert.ok(filesWith(file, "canary").length > 0);
  await (await openSqliteLog({ file })).log.close();
  assert.deepEqual(filesWith(file, "canary"), []);
});
