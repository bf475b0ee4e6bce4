import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { Ears } from "./ears.ts";
import { httpPair } from "./http.ts";

const EVENTS = 3000;

suite("an HTTP connection whose sockets break", () => {
  for (const serves of ["far", "near"] as const) {
    for (const format of ["ndjson", "sse"] as const) {
      const title = `every event arrives once and in order, both ways, however often they break: ${serves} serves, ${format} (HTP-6, HTP-7, HTP-8)`;
      test(title, async (t) => {
        const [near, far] = [new Ears(), new Ears()];
        const pair = await httpPair(near, t, { serves, format }, far);
        for (let n = 0; n < EVENTS; n++) {
          pair.near.send({ event_type: "down", n, text: "x".repeat(n % 300) });
          pair.far.send({ event_type: "up", n, text: "x".repeat(n % 300) });
          if (n % 100 === 0) await setImmediate();
          if (n % 500 === 499) pair.network.cut();
        }
        await Promise.all([near.count(EVENTS), far.count(EVENTS)]);
        const numbers = Array.from({ length: EVENTS }, (_, n) => n);
        assert.deepEqual(
          near.events.map(({ n }) => n),
          numbers,
        );
        assert.deepEqual(
          far.events.map(({ n }) => n),
          numbers,
        );
        assert.deepEqual([...near.faults, ...far.faults, ...near.closings, ...far.closings], []);
        assert.ok(pair.network.made > 4, `only ${pair.network.made} sockets were made`);
      });
    }
  }
});
