import assert from "node:assert/strict";
import { test } from "node:test";
import { Core } from "../../src/hub/core.ts";
import { defaultLimits } from "../../src/hub/limits.ts";
import { defaultQuotas } from "../../src/hub/tenants/quotas.ts";
import { inferResult, message, World } from "./world.ts";

test(
  "a step that reaches a hundred thousand cells, as when their infer dies, costs each of them once",
  { timeout: 10_000 },
  () => {
    const core = new Core({
      name: "core",
      version: "0",
      newId: (prefix) => prefix,
      resumeAfter: () => ({ order: 0, index: 0 }),
      policy: [],
      contextFallback: false,
      input: [],
      limits: defaultLimits,
      quotas: defaultQuotas,
      budgets: {},
      prices: {},
    });
    const batches = core.take(
      0,
      () => {
        for (let n = 0; n < 200_000; n++) core.append(`u_${n % 100_000}`, { event_type: "com.example/one" });
      },
      () => undefined,
    );
    assert.equal(batches.length, 100_000);
    assert.ok(batches.every(({ append }) => append.length === 2));
  },
);

const chunk = (kind: string, index: number, more: object) => ({ event_type: "infer_chunk", kind, index, ...more });

test("what a whole block carries beside the text of its deltas counts against an answer's bound too (CHK-1)", async () => {
  const world = new World({ limits: { answer: 1000 } });
  const ui = await world.join("ui");
  const infer = await world.join("infer");
  await ui.send(message("go"));
  const request = infer.last("bb_infer_request");
  const of = { in_reply_to: request["id"] };
  await infer.send(
    chunk("block_delta", 0, { ...of, block_type: "text", delta: "hello" }),
    chunk("block_stop", 0, { ...of, block: { type: "text", text: "", more: "x".repeat(2000) } }),
    inferResult(request),
  );
  assert.equal(infer.last("bb_error")["code"], "too_large");
  const stopped = ui.all("infer_chunk").find(({ kind }) => kind === "block_stop");
  assert.deepEqual(stopped?.["block"], { type: "text", text: "hello" }, "what was said in time stays");
  assert.equal(ui.last("infer_chunk")["stop_reason"], "end_turn");
  await world.end();
});

test("an infer that writes calls as text goes over the limit with a block's first delta: that changes nothing, is told once, and the turn ends (CHK-1, XML-6)", async () => {
  const world = new World({ limits: { answer: 100 } });
  const ui = await world.join("ui");
  const infer = await world.join("infer", {}, { capabilities: { tools: { xml: { dialect: "hermes" } } } });
  await ui.send(message("go"));
  const request = infer.last("bb_infer_request");
  const of = { in_reply_to: request["id"] };
  await infer.send(
    chunk("block_delta", 0, { ...of, block_type: "text", delta: "hello" }),
    chunk("block_delta", 1, { ...of, block_type: "thinking", delta: "x".repeat(200) }),
    ...Array.from({ length: 2000 }, () => chunk("block_delta", 1, { ...of, block_type: "thinking", delta: "x" })),
    inferResult(request),
  );
  assert.deepEqual(
    infer.all("bb_error").map(({ code }) => code),
    ["too_large"],
  );
  assert.equal(infer.closed, undefined, "what was on its way is no flood of mistakes");
  const blocks = ui.all("infer_chunk").flatMap(({ block }) => (block === undefined ? [] : [block]));
  assert.deepEqual(blocks, [{ type: "text", text: "hello" }]);
  assert.equal(ui.last("infer_chunk")["stop_reason"], "end_turn");
  await world.end();
});
