import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Queue } from "../../src/hub/turn/queue.ts";

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
