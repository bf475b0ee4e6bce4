import assert from "node:assert/strict";
import { test } from "node:test";
import { run } from "./run.ts";

const SEEDS = 200;
const AT_ONCE = 50;

for (let from = 1; from <= SEEDS; from += AT_ONCE) {
  const to = from + AT_ONCE - 1;
  test(`whatever fails and whenever, every invariant holds and all comes to rest: seeds ${from} to ${to}`, async () => {
    for (let seed = from; seed <= to; seed++) {
      const { failure } = await run(seed);
      assert.equal(failure, undefined, `seed ${seed}; see it again: npm run sim -- --seed ${seed}`);
    }
  });
}

test("the same seed is the same run, to the byte, and another is another", async () => {
  const [once, again, other] = [await run(7), await run(7), await run(8)];
  assert.equal(once.trace(), again.trace());
  assert.notEqual(once.trace(), other.trace());
});
