import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryLog, openSqliteLog, orderOf, type EventLog } from "../../../src/log/index.ts";
import { ReadConnection } from "../../../src/log/sqlite/connection.ts";
import { merged } from "../../../src/log/sqlite/merge.ts";
import { all, entry, freshFile } from "./files.ts";

const CELLS = 40;

/** 3,000 entries of 40 cells of 8 tenants, two of them trimmed. */
async function filled(log: EventLog): Promise<void> {
  for (let round = 0; round < 75; round++)
    await Promise.all(
      Array.from({ length: CELLS }, async (_, n) => {
        const base = round % 10 === 9 ? { base: true as const } : {};
        return log.append(`t${n % 8}/c${n}`, round, { ...entry(`${n}.${round}`, `text ${n} ${round}`), ...base });
      }),
    );
  await log.trim("t1/c1", 50);
  await log.trim("t2/c2", 70);
}

test("a reader of few cells, of many, and of all is shown the same order from any place, what is trimmed left out (LOG-2)", async () => {
  const file = freshFile();
  const { log } = await openSqliteLog({ file });
  const memory = new MemoryLog();
  await filled(log);
  await filled(memory);
  const read = async (from: EventLog, after: number, scopes: string[]) =>
    (await all(from.readAll(after, scopes))).map(({ cell, id, pos, cursor, gap }) => [
      cell,
      id,
      pos,
      orderOf(cursor),
      gap,
    ]);
  const wanted = [
    ["*"],
    ["t1"],
    ["t1/c1", "t2/c2", "t3"],
    ["t2/c2/~child"],
    ["nobody"],
    ["t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7"],
  ];
  for (const scopes of wanted)
    for (const after of [0, 1, 700, 1999, 2500, 3000]) {
      const found = await read(log, after, scopes);
      assert.deepEqual(found, await read(memory, after, scopes), `${scopes.join(" ")} after ${after}`);
      assert.ok(found.length > 0 || after === 3000 || scopes[0] === "nobody");
    }
  await log.close();
  const db = new ReadConnection(file);
  const cells = db.all<{ id: number }>("SELECT id FROM cells WHERE name LIKE 't5/%'").map(({ id }) => id);
  for (const [after, until] of [
    [0, 3000],
    [13, 14],
    [1234, 2345],
    [3000, 3000],
  ] as const)
    assert.deepEqual(
      [...merged(db, cells, after, until)],
      db
        .all<{ number: number }>(
          "SELECT number FROM entries JOIN cells ON cells.id = cell WHERE name LIKE 't5/%' AND number > ? AND number <= ? ORDER BY number",
          after,
          until,
        )
        .map(({ number }) => number),
    );
  db.close();
});
