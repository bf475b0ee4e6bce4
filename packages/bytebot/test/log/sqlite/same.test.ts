import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { MemoryLog, openSqliteLog, orderOf, type Entry, type EventLog } from "../../../src/log/index.ts";
import { BytebotError } from "../../../src/wire/index.ts";
import { all, event, freshFile } from "./files.ts";

const cellName = fc.constantFrom("u", "u/a", "u-b", "v", "v/x/y");
const scopes = fc.constantFrom(["*"], ["u"], ["u/a", "v"], ["u/~c", "v/x"], ["none"]);
const place = fc.nat({ max: 12 });

const operation = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("append" as const),
      cell: cellName,
      /** From its head; mostly right. */
      off: fc.constantFrom(0, 0, 0, 0, -1, -2, 1),
      id: fc.nat({ max: 30 }),
      texts: fc.array(fc.string(), { maxLength: 3 }),
      base: fc.boolean(),
      open: fc.boolean(),
      wipe: fc.constantFrom(false, false, false, true),
      title: fc.option(fc.string({ maxLength: 3 })),
      blob: fc.option(fc.nat({ max: 3 })),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("trim" as const), cell: cellName, pos: place }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("read" as const), cell: cellName, pos: place }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("readBack" as const), cell: cellName, order: fc.option(place) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("readAll" as const), scopes, order: place }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("cells" as const), scopes }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("getBlob" as const), cell: cellName, blob: fc.nat({ max: 3 }) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("restart" as const) }) },
);

type Operation = typeof operation extends fc.Arbitrary<infer Each> ? Each : never;

const bytesOf = (blob: number): Uint8Array => Buffer.from(`blob ${blob}`);

/** What differs between two logs by its nature: their names, their clocks. */
function plain({ cursor, at, ...rest }: Entry): object {
  return { ...rest, order: orderOf(cursor), dated: at > 0 };
}

async function perform(log: EventLog, operation: Operation): Promise<unknown> {
  switch (operation.do) {
    case "append": {
      const { cell, off, id, texts, base, open, blob, wipe, title } = operation;
      const expected = Math.max(0, ((await log.head(cell))?.pos ?? 0) + off);
      // A blob without an entry is gone after a restart.
      const refs = blob === null || off !== 0 ? [] : [(await log.putBlob(cell, bytesOf(blob))).ref];
      const flags = {
        ...(base || wipe ? { base: true as const } : {}),
        ...(open ? { open: true as const } : {}),
        ...(wipe ? { wipe: true as const } : {}),
        ...(title === null ? {} : { about: { title } }),
      };
      const entry = { id: `e${id}`, events: texts.map(event), refs, ...flags };
      const { pos, cursor } = await log.append(cell, expected, entry);
      return { pos, order: orderOf(cursor), end: orderOf(log.end) };
    }
    case "trim":
      return log.trim(operation.cell, operation.pos);
    case "read":
      return (await all(log.read(operation.cell, operation.pos))).map(plain);
    case "readBack": {
      const { cell, order } = operation;
      const from = order === null ? undefined : log.end.replace(/\d+$/, String(order));
      return (await all(log.readBack(cell, from))).map(plain);
    }
    case "readAll":
      return (await all(log.readAll(operation.order, operation.scopes))).map(plain);
    case "cells":
      return [
        (await all(log.cells(operation.scopes))).map(({ at, cursor, ...info }) => ({
          ...{ ...info, order: orderOf(cursor), dated: at > 0 },
        })),
        (await all(log.unfinished())).sort(),
      ];
    case "getBlob":
      return Buffer.from(await log.getBlob(operation.cell, (await refs)[operation.blob]!)).toString();
    case "restart":
      return undefined;
  }
}

const refs = (async () => {
  const log = new MemoryLog();
  return Promise.all([0, 1, 2, 3].map(async (blob) => (await log.putBlob("u", bytesOf(blob))).ref));
})();

async function outcome(log: EventLog, operation: Operation): Promise<unknown> {
  try {
    return { value: await perform(log, operation) };
  } catch (error) {
    const { code, data } = BytebotError.from(error);
    return { code, data };
  }
}

test("whatever is done to them, and however often it is restarted, the durable log answers as the one in memory", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { minLength: 10, maxLength: 60 }), async (operations) => {
      const file = freshFile();
      const memory = new MemoryLog();
      let durable = (await openSqliteLog({ file })).log;
      try {
        for (const operation of operations) {
          if (operation.do === "restart") {
            await durable.close();
            durable = (await openSqliteLog({ file })).log;
          }
          assert.deepEqual(await outcome(durable, operation), await outcome(memory, operation));
        }
      } finally {
        await durable.close();
      }
    }),
    { numRuns: 25, interruptAfterTimeLimit: 20_000 },
  );
});
