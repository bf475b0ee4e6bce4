import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { test } from "node:test";
import { openSqliteLog } from "../../../src/log/index.ts";
import { all, freshFile, sql } from "./files.ts";
import { Owner } from "./owner.ts";

const ROUNDS = 6;

test("a Hub that is killed at any moment loses nothing that it acknowledged, and no chain has a fork or a hole (DUR-1)", async () => {
  const file = freshFile();
  const acknowledged = new Map<string, number>();
  for (let round = 0; round < ROUNDS; round++) {
    const owner = await new Owner(file, { mode: "flood" }).opened();
    const enough = acknowledged.size + randomInt(1, 1500);
    for (let line = await owner.said(); line !== undefined; line = await owner.said()) {
      const [id, pos] = line.split(" ");
      assert.match(pos!, /^\d+$/, line);
      acknowledged.set(id!, Number(pos));
      if (acknowledged.size === enough) owner.child.kill("SIGKILL");
    }
  }
  const { log } = await openSqliteLog({ file });
  const found = new Map<string, number>();
  let order = 0;
  for (let n = 0; n < 10; n++) {
    let pos = 0;
    for (const entry of await all(log.read(`c${n}`, 0))) {
      assert.equal(entry.pos, ++pos);
      assert.ok(!found.has(entry.id), `${entry.id} is there twice`);
      found.set(entry.id, entry.pos);
    }
  }
  for (const { cursor } of await all(log.readAll(0, ["*"]))) {
    const next = Number(cursor.split(":")[1]);
    assert.ok(next > order);
    order = next;
  }
  for (const [id, pos] of acknowledged) assert.equal(found.get(id), pos, id);
  await log.close();
  assert.deepEqual(Object.values(sql<object>(file, "PRAGMA integrity_check")[0]!), ["ok"]);
});
