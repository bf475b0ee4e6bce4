import assert from "node:assert/strict";
import { test } from "node:test";
import { Rate } from "../src/around/rate.ts";

test("a pace of less than a request in a month is waited for by a timer that can wait so long", async (t) => {
  const warnings: Error[] = [];
  const listen = (warning: Error) => void warnings.push(warning);
  process.on("warning", listen);
  t.after(() => process.off("warning", listen));
  const rate = new Rate({ requests_per_minute: 1e-9 });
  const stop = new AbortController();
  const ask = () =>
    rate.run(
      stop.signal,
      () => Promise.resolve("ok"),
      () => 0,
    );
  assert.equal(await ask(), "ok");
  const waiting = ask();
  for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate);
  stop.abort();
  await assert.rejects(waiting, { name: "AbortError" });
  assert.deepEqual(warnings, []);
});
