import assert from "node:assert/strict";
import { test } from "node:test";
import { run } from "./run.ts";

const SEEDS = 500;
const AT_ONCE = 100;

for (let from = 1; from <= SEEDS; from += AT_ONCE) {
  const to = from + AT_ONCE - 1;
  test(`a Hub that is killed at any moment, again and again, is gone on with by the next, and every invariant holds: seeds ${from} to ${to} (REC-1 to REC-7)`, async () => {
    for (let seed = from; seed <= to; seed++) {
      const { failure } = await run(seed, "hard");
      assert.equal(failure, undefined, `seed ${seed}; see it again: npm run sim -- --hard --seed ${seed}`);
    }
  });
}

test("the same seed is the same run where the Hub dies too, to the byte", async () => {
  const [once, again] = [await run(7, "hard"), await run(7, "hard")];
  assert.equal(once.trace(), again.trace());
  assert.match(once.trace(), /the Hub is killed/);
});
