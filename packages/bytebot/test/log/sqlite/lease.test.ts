import assert from "node:assert/strict";
import { copyFileSync, renameSync, rmSync } from "node:fs";
import { hostname } from "node:os";
import { test } from "node:test";
import { openSqliteLog } from "../../../src/log/index.ts";
import { entry, freshFile, texts } from "./files.ts";
import { Owner } from "./owner.ts";

test("a second Hub on a file is told who has it, from another process and in the same one, and the first goes on (DUR-2)", async () => {
  const file = freshFile();
  const first = await new Owner(file).opened();
  const who = new RegExp(`in use by process ${first.child.pid} on ${hostname()} since 20.*End that one, or give`);
  await assert.rejects(openSqliteLog({ file }), { code: "conflict", message: who });
  assert.equal(await first.append("u", 0, "a"), "a 1");
  await first.end();
  const { log } = await openSqliteLog({ file });
  await assert.rejects(openSqliteLog({ file }), { code: "conflict" });
  const second = new Owner(file);
  assert.match((await second.said())!, new RegExp(`^refused conflict .* by process ${process.pid} on`));
  assert.equal((await log.append("u", 1, entry("b", "two"))).pos, 2);
  await log.close();
});

test("after a kill -9 the next Hub has the file at once (DUR-2)", async () => {
  const file = freshFile();
  for (let round = 0; round < 3; round++) {
    const owner = await new Owner(file).opened();
    assert.equal(await owner.append("u", round, `a${round}`), `a${round} ${round + 1}`);
    await owner.kill();
  }
  const { log } = await openSqliteLog({ file });
  assert.equal((await log.head("u"))?.pos, 3);
  await log.close();
});

test("an owner that lost its lock and does not know it writes nothing any more, and says who has the file (DUR-2)", async () => {
  const file = freshFile();
  const old = await new Owner(file).opened();
  assert.equal(await old.append("u", 0, "a"), "a 1");
  // As on a file system that forgets locks: the next one takes another lock.
  rmSync(`${file}-lock`);
  const { log } = await openSqliteLog({ file });
  assert.match(
    (await old.append("u", 1, "late"))!,
    new RegExp(`^late unavailable false .* has another owner: process ${process.pid} on .*generation 2`),
  );
  await log.append("u", 1, entry("b", "mine"));
  assert.match((await old.append("u", 2, "later"))!, /^later unavailable false/);
  assert.equal((await texts(log.read("u", 0))).length, 2);
  await log.close();
  await old.end();
});

test("a file that was restored over an owner's is not written by it: what it would acknowledge, nobody would find (DUR-2)", async () => {
  const file = freshFile();
  await (await openSqliteLog({ file })).log.close();
  copyFileSync(file, `${file}.copy`);
  const owner = await new Owner(file).opened();
  assert.equal(await owner.append("u", 0, "a"), "a 1");
  renameSync(`${file}.copy`, file);
  assert.match((await owner.append("u", 1, "b"))!, /^b unavailable false .*moved, removed or replaced/);
  await owner.end();
});
