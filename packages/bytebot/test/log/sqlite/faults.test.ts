import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { openSqliteLog, withLargeEvents, type EventLog } from "../../../src/log/index.ts";
import { verifySqlite } from "../../../src/log/sqlite/verify.ts";
import { BytebotError } from "../../../src/wire/index.ts";
import { all, entry, freshFile, sql, texts } from "./files.ts";
import { Owner } from "./owner.ts";

/** Appends until one is refused: how many were not, and why. */
async function fill(log: EventLog, cell: string): Promise<{ count: number; error: BytebotError }> {
  for (let count = 0; ; count++) {
    try {
      const base = count % 10 === 9 ? { base: true as const } : {};
      await log.append(cell, count, { ...entry(`${cell}.${count}`, "x".repeat(20_000)), ...base });
    } catch (error) {
      return { count, error: BytebotError.from(error) };
    }
  }
}

function problems(file: string): string[] {
  return [...verifySqlite(file)].map(({ where, what }) => `${where}: ${what}`);
}

test("a full disk refuses what does not fit, keeps what was acknowledged, and takes more when there is room (DUR-1)", async () => {
  const file = freshFile();
  const { log } = await openSqliteLog({ file, maxBytes: 1_000_000 });
  const { count, error } = await fill(log, "u");
  assert.deepEqual([error.code, error.retryable], ["unavailable", true]);
  assert.match(error.message, /no room left/);
  assert.equal((await all(log.read("u", 0))).length, count);
  await assert.rejects(log.append("v", 0, entry("a", "x".repeat(20_000))), { code: "unavailable", retryable: true });
  await log.trim("u", count - (count % 10));
  assert.equal((await log.append("v", 0, entry("a", "x".repeat(20_000)))).pos, 1);
  await log.close();
  assert.deepEqual(problems(file), []);
});

test("a disk that fails refuses appends, and takes them again without a restart, with nothing lost or twice (DUR-1)", async () => {
  const file = freshFile();
  // No file of this process grows beyond a limit that can be lifted from outside.
  const owner = await new Owner(file, { through: ["prlimit", "--fsize=300000:unlimited"] }).opened();
  let count = 0;
  let said: string | undefined;
  for (;;) {
    said = await owner.append("u", count, `a${count}-${"x".repeat(1000)}`);
    if (!/^\S+ \d+$/.test(said!)) break;
    count++;
  }
  assert.match(said!, /^\S+ unavailable true .*the disk failed/);
  const refused = `a${count}-${"x".repeat(1000)}`;
  assert.match((await owner.append("u", count, refused))!, /unavailable true/);
  execFileSync("prlimit", ["--pid", String(owner.child.pid), "--fsize=unlimited:unlimited"]);
  assert.equal(await owner.append("u", count, refused), `${refused} ${count + 1}`);
  assert.equal(await owner.append("u", count, refused), `${refused} ${count + 1}`, "the same id, the same place");
  assert.equal(await owner.append("u", count + 1, "next"), `next ${count + 2}`);
  await owner.end();
  const { log } = await openSqliteLog({ file });
  assert.equal((await all(log.read("u", 0))).length, count + 2);
  await log.close();
  assert.deepEqual(problems(file), []);
});

test("a file or folder that this user may not write is refused with what to do", async () => {
  const file = freshFile();
  await (await openSqliteLog({ file })).log.close();
  const folder = `${file}.folder`;
  mkdirSync(folder);
  copyFileSync(file, `${folder}/log.db`);
  chmodSync(`${folder}/log.db`, 0o444);
  chmodSync(folder, 0o555);
  const owner = new Owner(`${folder}/log.db`, { unprivileged: true });
  assert.match((await owner.said())!, /^refused unavailable .*(cannot be|right)/);
  await owner.end();
  chmodSync(folder, 0o755);
});

test("a log whose last commits were torn off opens with all before them, and goes on (DUR-1)", async () => {
  const file = freshFile();
  const owner = await new Owner(file).opened();
  for (let n = 0; n < 20; n++) await owner.append("u", n, `a${n}`);
  await owner.kill();
  const wal = readFileSync(`${file}-wal`);
  truncateSync(`${file}-wal`, wal.length - 6000);
  const { log } = await openSqliteLog({ file });
  const found = await all(log.read("u", 0));
  assert.ok(found.length >= 15 && found.length < 20, String(found.length));
  assert.deepEqual(
    found.map(({ id }) => id),
    found.map((_, n) => `a${n}`),
  );
  assert.equal((await log.append("u", found.length, entry("next", "x"))).pos, found.length + 1);
  await log.close();
  assert.deepEqual(problems(file), []);
});

test("bytes that flipped in an event or a blob are found when they are read, by cell and place, and nothing else suffers (DUR-3)", async () => {
  const file = freshFile();
  const opened = await openSqliteLog({ file });
  const log = withLargeEvents(opened.log);
  await log.append("u", 0, entry("a", "a good beginning"));
  await log.append("u", 1, entry("b", "a word that changes"));
  await log.append("u", 2, entry("c", "a good end"));
  await log.append("v", 0, entry("d", `large ${"y".repeat(300_000)}`));
  await log.close();
  const bytes = readFileSync(file);
  for (const [word, other] of [
    ["a word that changes", "a word that change5"],
    ["yyyyyyyy", "yyyyYyyy"],
  ] as const)
    bytes.write(other, bytes.indexOf(word));
  writeFileSync(file, bytes);

  const again = withLargeEvents((await openSqliteLog({ file })).log);
  const seen: unknown[] = [];
  await assert.rejects(
    async () => {
      for await (const { events } of again.read("u", 0)) seen.push(events[0]!["text"]);
    },
    { code: "internal", message: /the entry 2 of cell "u" in .* is damaged/ },
  );
  assert.deepEqual(seen, ["a good beginning"], "what is before it is read");
  assert.deepEqual(await texts(again.read("u", 2)), ["a good end"], "and what is after it");
  await assert.rejects(again.head("v"), { code: "internal", message: /piece \d of the blob sha256-.* of cell "v"/ });
  assert.equal((await again.append("u", 3, entry("e", "on"))).pos, 4);
  await again.close();
  const found = problems(file);
  assert.ok(found.includes('cell "u", entry 2: its checksum does not match what it says'), found.join("\n"));
  assert.ok(
    found.some((each) => /^cell "v", blob sha256-.*: its piece \d is damaged/.test(each)),
    found.join("\n"),
  );
  assert.equal(found.length, 3, found.join("\n"));
});

test("verify says what is wrong with a file that somebody changed: holes, counts, missing blobs, lost rows (DUR-3)", async () => {
  const file = freshFile();
  const log = withLargeEvents((await openSqliteLog({ file })).log);
  for (let n = 0; n < 6; n++) await log.append("u", n, entry(`a${n}`, `text ${n}`));
  await log.append("v", 0, { ...entry("b", "z".repeat(100_000)), open: true });
  await log.close();
  assert.deepEqual(problems(file), []);
  const cases = {
    "DELETE FROM entries WHERE id = 'a2'": 'cell "u", entry 4: it should be the entry 3',
    "UPDATE entries SET event_total = 9 WHERE id = 'a2'": 'cell "u", entry 3: the count of its cell',
    "UPDATE entries SET event_count = 2 WHERE id = 'a5'": 'cell "u", entry 6: it has 1 events and says 2',
    "UPDATE entries SET number = 100 WHERE id = 'a1'": 'cell "u", entry 3: it comes before',
    "UPDATE entries SET id = 'a9' WHERE id = 'a1'": 'cell "u", entry 2: its checksum',
    "UPDATE cells SET open = 0 WHERE name = 'v'": 'cell "v": its newest entry',
    "DELETE FROM pieces": 'cell "v", blob sha256-',
    "DELETE FROM blobs": 'cell "v", entry 1: its blob sha256-',
    "DELETE FROM entries WHERE id = 'b'": 'cell "v", blob sha256-',
    "DELETE FROM cells WHERE name = 'u'": "the file: 6 rows belong to no cell",
  };
  for (const [change, expected] of Object.entries(cases)) {
    const copy = freshFile();
    copyFileSync(file, copy);
    sql(copy, change);
    const found = problems(copy);
    assert.ok(
      found.some((each) => each.startsWith(expected)),
      `${change}: ${found.join("\n") || "nothing found"}`,
    );
  }
});

test("pages that were overwritten never pass for text, wherever they are, and a log that opens says what it has lost (DUR-3)", async () => {
  const file = freshFile();
  const { log } = await openSqliteLog({ file });
  for (let cell = 0; cell < 3; cell++)
    for (let n = 0; n < 10; n++)
      await log.append(`c${cell}`, n, entry(`${cell}.${n}`, `text ${cell} ${n} `.repeat(50)));
  await log.close();
  const bytes = readFileSync(file);
  for (let page = 0; page < bytes.length / 4096; page++) {
    const copy = freshFile();
    writeFileSync(copy, Buffer.from(bytes).fill(0xa5, page * 4096, (page + 1) * 4096));
    const opened = await openSqliteLog({ file: copy }).catch((error: unknown) => BytebotError.from(error));
    if (opened instanceof BytebotError) {
      assert.equal(opened.code, "unavailable", String(opened));
      continue;
    }
    for (let cell = 0; cell < 3; cell++) {
      let n = 0;
      try {
        for await (const { events } of opened.log.read(`c${cell}`, 0))
          assert.equal(events[0]!["text"], `text ${cell} ${n++} `.repeat(50));
      } catch (error) {
        assert.ok(error instanceof BytebotError, `page ${page}: ${String(error)}`);
      }
    }
    await opened.log.close();
    assert.notDeepEqual(problems(copy), [], `page ${page}`);
  }
});
