import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { relay } from "../../src/hub/turn/blocks.ts";
import { Core } from "../../src/hub/core.ts";
import { defaultLimits } from "../../src/hub/limits.ts";
import type { Batch } from "../../src/hub/effects.ts";
import { offer } from "../../src/hub/grants.ts";
import { defaultQuotas } from "../../src/hub/tenants/quotas.ts";
import { step } from "../../src/hub/step.ts";
import type { Event } from "../../src/wire/index.ts";
import { message } from "./world.ts";

/** A core whose infer, connection `i`, was asked by request `r` in scope `u`; a second infer is connection `j`. */
function asked(answer: number): Core {
  let ids = 0;
  const bounds = { limits: { ...defaultLimits, answer }, quotas: defaultQuotas, budgets: {}, prices: {} };
  const newId = (prefix: string) => (prefix === "i" ? "r" : `${prefix}_${++ids}`);
  const resumeAfter = () => ({ order: 0, index: 0 });
  const core = new Core({
    name: "core",
    version: "0",
    newId,
    resumeAfter,
    policy: [],
    contextFallback: false,
    input: [],
    ...bounds,
  });
  for (const [connection, kind] of Object.entries({ u: "ui", i: "infer", j: "infer" })) {
    step(core, 0, { type: "opened", connection, offer: offer({ componentId: connection, name: connection }) });
    step(core, 0, { type: "event", connection, event: { event_type: "bb_sync", kind } });
  }
  step(core, 0, { type: "event", connection: "u", event: message("go") });
  return core;
}

const fields = {
  event_type: fc.constant("infer_chunk"),
  in_reply_to: fc.constantFrom("r", "r", "r", "r", "r", "x"),
  kind: fc.constantFrom("block_delta", "block_delta", "block_delta", "block_delta", "block_start", "block_stop"),
  index: fc.nat(1),
  block_type: fc.constantFrom("text", "text", "text", "thinking"),
  delta: fc.string({ maxLength: 12 }),
};
const sent = fc.record({
  from: fc.constantFrom("i", "i", "i", "i", "i", "i", "j", "u", "gone"),
  event: fc.oneof(
    { weight: 40, arbitrary: fc.record(fields) },
    { weight: 10, arbitrary: fc.record({ ...fields, scope: fc.constantFrom("u", "v") }) },
    { weight: 1, arbitrary: fc.constant({ event_type: "stop" }) },
  ),
});

test("a delta on the hot way leads to what it leads to on the general one (CHK-1, CHK-2)", () => {
  let hot = 0;
  fc.assert(
    fc.property(fc.array(sent, { minLength: 5, maxLength: 40 }), fc.constantFrom(40, 10_000), (all, answer) => {
      const [fast, slow] = [asked(answer), asked(answer)];
      for (const [index, { from, event }] of all.entries()) {
        // An interrupt, now and then: what comes after it is not kept.
        const stop = { event_type: "interrupt", scope: "u" };
        const [connection, input]: [string, Event] = event.event_type === "stop" ? ["u", stop] : [from, event];
        const one = { ...input };
        const shown = relay(fast, index, connection, one);
        if (shown) hot++;
        const batch: Batch[] = [{ cell: "u", append: [], effects: shown ? [{ type: "publish", event: shown }] : [] }];
        const fastBatches = shown ? batch : step(fast, index, { type: "event", connection, event: one });
        const slowBatches = step(slow, index, { type: "event", connection, event: { ...input } });
        assert.deepEqual(fastBatches, slowBatches);
        assert.deepEqual(fast.conversations, slow.conversations);
      }
    }),
    { numRuns: 300 },
  );
  assert.ok(hot > 100, `${hot} took the hot way`);
});
