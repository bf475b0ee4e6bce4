import assert from "node:assert/strict";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { BytebotError } from "bytebot/sdk";
import { Queue } from "../src/queue.ts";

const { signal } = new AbortController();
const full = () => new BytebotError("overloaded", "full");

test("a queue keeps nothing of what it has run, and still runs one after the other", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const queue = new Queue(8, full);
  const results: WeakRef<object>[] = [];
  const order: string[] = [];
  const work = (at: number) => async () => {
    order.push(`${at} begins`);
    await new Promise(setImmediate);
    order.push(`${at} ends`);
    if (at === 1) throw new Error("this one fails");
    const result = { at };
    results.push(new WeakRef(result));
    return result;
  };
  await Promise.allSettled([0, 1, 2].map((at) => queue.run(signal, work(at))));
  await queue.idle();
  await new Promise(setImmediate);
  collect();
  assert.deepEqual(order, ["0 begins", "0 ends", "1 begins", "1 ends", "2 begins", "2 ends"]);
  assert.deepEqual(
    results.map((result) => result.deref()),
    [undefined, undefined],
  );
});
