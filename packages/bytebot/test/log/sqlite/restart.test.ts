import assert from "node:assert/strict";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { DatabaseSync } from "node:sqlite";
import { openSqliteLog, withLargeEvents } from "../../../src/log/index.ts";
import { migrate, steps } from "../../../src/log/sqlite/schema.ts";
import { all, entry, freshFile, sql, texts } from "./files.ts";

test("what was acknowledged is there after a restart: entries, their places and ids, blobs, what was under way (LOG-4) (LOG-6)", async () => {
  const file = freshFile();
  const first = await openSqliteLog({ file });
  const log = withLargeEvents(first.log);
  const large = "😀".repeat(100_000);
  const one = await log.append("u", 0, entry("a", "one", large));
  const two = await log.append("u", one.pos, { ...entry("b", "two"), open: true });
  const other = await log.append("v", 0, entry("c", "three"));
  const writer = first.blobs.create("u");
  await writer.write(Buffer.from("hello "));
  await writer.write(Buffer.from("there"));
  await writer.commit("sha256-x", "text/plain");
  const { end } = log;
  await log.close();

  const second = await openSqliteLog({ file });
  const again = withLargeEvents(second.log);
  assert.equal(again.end, end, "cursors of one run are cursors of the next");
  assert.deepEqual(await texts(again.read("u", 0)), ["one", large, "two"]);
  assert.deepEqual(await all(again.unfinished()), ["u"]);
  assert.deepEqual(await again.append("u", one.pos, { ...entry("b", "two"), open: true }), two);
  const next = await again.append("v", other.pos, entry("d", "four"));
  assert.equal(next.pos, other.pos + 1);
  const blob = await second.blobs.find("u", "sha256-x");
  assert.deepEqual([blob!.size, blob!.mimeType], [11, "text/plain"]);
  assert.equal(Buffer.concat(await all(blob!.read())).toString(), "hello there");
  await again.close();
});

test("the file is one that any SQLite tool reads, and for its owner's eyes alone", async () => {
  const file = freshFile();
  const { log } = await openSqliteLog({ file });
  await log.append("u", 0, entry("a", "one", "two"));
  const [row] = sql<{ text: string }>(
    file,
    "SELECT json_extract(value, '$.text') AS text FROM entries, json_each(entries.events) WHERE pos = 1 AND key = 1",
  );
  assert.equal(row?.text, "two");
  await log.close();
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.equal(statSync(`${file}-wal`, { throwIfNoEntry: false }), undefined, "closed, it is one file");
});

test("commits are FULL unless NORMAL was asked for, as the connection that writes says itself (DUR-1)", async () => {
  const full = await openSqliteLog({ file: freshFile() });
  assert.equal(full.log.synchronous, 2);
  await full.log.close();
  const normal = await openSqliteLog({ file: freshFile(), synchronous: "normal" });
  assert.equal(normal.log.synchronous, 1);
  await normal.log.close();
});

test("a file of a later version is refused, with the way out, and not touched", async () => {
  const file = freshFile();
  await (await openSqliteLog({ file })).log.close();
  sql(file, "PRAGMA user_version = 99");
  const before = readFileSync(file);
  await assert.rejects(openSqliteLog({ file }), {
    code: "unavailable",
    message: new RegExp(`version 99.*knows ${steps.length} at most: use`),
  });
  assert.deepEqual(readFileSync(file), before);
});

test("a file of an older version is brought to the newest in one step, or stays as it was", async () => {
  const file = freshFile();
  writeFileSync(file, "");
  const { log } = await openSqliteLog({ file });
  await log.append("u", 0, entry("a", "one"));
  await log.close();
  const db = new DatabaseSync(file);
  const broken = () => {
    db.exec("CREATE TABLE half (x)");
    throw new Error("cut off");
  };
  assert.throws(() => migrate(db, file, [...steps, broken]), /cut off/);
  assert.equal(db.prepare("PRAGMA user_version").get()!["user_version"], steps.length);
  assert.equal(db.prepare("SELECT count(*) AS n FROM sqlite_schema WHERE name = 'half'").get()!["n"], 0);
  migrate(db, file, [...steps, () => db.exec("ALTER TABLE cells ADD COLUMN colour TEXT")]);
  assert.equal(db.prepare("PRAGMA user_version").get()!["user_version"], steps.length + 1);
  assert.equal(db.prepare("SELECT count(*) AS n FROM entries").get()!["n"], 1);
  db.close();
});

test("what is no log is refused and stays as it is: text, another program's SQLite file, a folder, a path to nowhere", async () => {
  const text = freshFile();
  writeFileSync(text, "dear diary, ".repeat(100));
  await assert.rejects(openSqliteLog({ file: text }), { code: "unavailable", message: /not an SQLite file/ });
  assert.equal(readFileSync(text, "utf8"), "dear diary, ".repeat(100));
  const other = freshFile();
  sql(other, "CREATE TABLE bookmarks (url TEXT)");
  const before = readFileSync(other);
  await assert.rejects(openSqliteLog({ file: other }), { code: "unavailable", message: /another program/ });
  assert.deepEqual(readFileSync(other), before);
  await assert.rejects(openSqliteLog({ file: "/" }), { code: "unavailable" });
  await assert.rejects(openSqliteLog({ file: "/nowhere/at/all.db" }), {
    code: "not_found",
    message: /there is no folder \/nowhere\/at: make it/,
  });
});
