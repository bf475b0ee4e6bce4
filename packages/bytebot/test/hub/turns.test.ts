import assert from "node:assert/strict";
import { setImmediate as turnOfTheLoop } from "node:timers/promises";
import { test } from "node:test";
import { Turns } from "../../src/hub/readers/turns.ts";
import { message, World } from "./world.ts";

test("of many that read the log one has its turn between two turns of the event loop, in a circle (RPL-6)", async () => {
  const turns = new Turns();
  let turn = 0;
  let state: "running" | "done" = "running";
  const counting = (async () => {
    while (state === "running") {
      await turnOfTheLoop();
      turn++;
    }
  })();
  const had: [who: number, turn: number][] = [];
  const reader = async (who: number): Promise<void> => {
    for (let slice = 0; slice < 5; slice++) {
      await turns.take();
      had.push([who, turn]);
      turns.give();
    }
  };
  await Promise.all(Array.from({ length: 10 }, (_, who) => reader(who)));
  state = "done";
  await counting;
  assert.equal(new Set(had.map(([, at]) => at)).size, 50, "no two in one turn of the loop");
  assert.deepEqual(
    had.map(([who]) => who),
    Array.from({ length: 50 }, (_, n) => n % 10),
  );
});

test("fifty readers that return at once get all there is (RPL-6)", async () => {
  const world = new World({ quotas: { connections: 100, events: 10_000 } });
  const ui = await world.join("ui");
  for (let n = 0; n < 20; n++) await ui.send(message(`message ${n}`, `u/${n}`));
  const all = ui.all("user_event");
  const readers = await Promise.all(
    Array.from({ length: 50 }, (_, n) => world.join("ui", { name: `r${n}` }, { resume: "start" })),
  );
  while (readers.some((reader) => reader.all("bb_live").length === 0)) await turnOfTheLoop();
  for (const reader of readers) assert.deepEqual(reader.all("user_event"), all);
  await world.end();
});
