import assert from "node:assert/strict";
import { test } from "node:test";
import { openSqliteLog, withLargeEvents } from "../../../src/log/index.ts";
import { ReadConnection } from "../../../src/log/sqlite/connection.ts";
import { merged } from "../../../src/log/sqlite/merge.ts";
import { SqliteReader } from "../../../src/log/sqlite/reader.ts";
import { all, entry, freshFile, sql } from "./files.ts";

test("whatever is read of a cell is found by index, however many others there are", async () => {
  const file = freshFile();
  const log = withLargeEvents((await openSqliteLog({ file })).log);
  const first = await log.append("u", 0, { ...entry("a", "x".repeat(100_000)), open: true });
  await log.append("u", 1, entry("b", "two"));
  await log.append("v", 0, entry("c", "three"));
  await log.close();

  const db = new ReadConnection(file);
  const reader = withLargeEvents(new SqliteReader(db));
  await all(reader.read("u", 0));
  await all(reader.readBack("u", first.cursor));
  await all(reader.readBack("u"));
  await all(reader.readAll(0, ["*"]));
  await all(reader.readAll(1, ["u"]));
  assert.deepEqual([...merged(db, [1, 2], 1, 3)], [2, 3]);
  await reader.head("u");
  await all(reader.unfinished());
  await all(reader.cells(["u", "v/x"]));
  const { statements } = db as unknown as { statements: Map<string, unknown> };
  assert.ok(statements.size > 10, [...statements.keys()].join("\n"));
  for (const statement of statements.keys()) {
    const plan = sql<{ detail: string }>(file, `EXPLAIN QUERY PLAN ${statement.replaceAll("?", "1")}`);
    const steps = plan.map(({ detail }) => detail);
    const slow = steps.filter((detail) => detail.startsWith("SCAN") || detail.includes("TEMP B-TREE"));
    // One row.
    assert.deepEqual(
      slow.filter((detail) => detail !== "SCAN log"),
      [],
      `${statement}: ${steps.join("; ")}`,
    );
  }
  await reader.close();
});
