import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { Queue } from "../../src/hub/queue.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

test("a queue gives back what came in, in its order, however it is used", () => {
  const moves = fc.array(fc.oneof(fc.nat(3000), fc.constantFrom("shift", "shift all", "drain")), { maxLength: 20 });
  fc.assert(
    fc.property(moves, (all) => {
      const queue = new Queue<number>();
      let plain: number[] = [];
      let count = 0;
      for (const move of all) {
        if (typeof move === "number") {
          for (let n = 0; n < move; n++) {
            queue.push(count);
            plain.push(count++);
          }
        } else if (move === "drain") {
          assert.deepEqual(queue.drain(), plain);
          plain = [];
        } else {
          for (let n = move === "shift" ? 1 : plain.length; n > 0; n--) assert.equal(queue.shift(), plain.shift());
        }
        assert.deepEqual([queue.length, queue.first, queue.last], [plain.length, plain[0], plain.at(-1)]);
      }
    }),
    { numRuns: 100 },
  );
});

test("half a million that wait leave as fast as they came", { timeout: 10_000 }, () => {
  const queue = new Queue<number>();
  for (let n = 0; n < 500_000; n++) queue.push(n);
  for (let n = 0; n < 500_000; n++) assert.ok(queue.shift() === n);
});

test("what was taken from a queue is not kept alive by it, whether more waits behind it or not", async () => {
  const queue = new Queue<object>();
  const taken = [new WeakRef<object>({}), new WeakRef<object>({})];
  for (const ref of taken) queue.push(ref.deref()!);
  queue.push({});
  queue.shift();
  queue.shift();
  await collected(taken);
  assert.equal(queue.length, 1);
  assert.ok(queue.shift());
  const last = new WeakRef<object>({});
  queue.push(last.deref()!);
  queue.shift();
  await collected([last]);
});

async function collected(refs: readonly WeakRef<object>[]): Promise<void> {
  // What was made or read in this job is alive until its end.
  await setImmediate();
  collect();
  assert.deepEqual(
    refs.map((ref) => ref.deref()),
    refs.map(() => undefined),
  );
}
