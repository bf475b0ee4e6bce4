import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { Outcome } from "../../src/cli/doctor/check.ts";
import { checks } from "../../src/cli/doctor/table.ts";
import { prepareWeights } from "../../src/weights/index.ts";
import { findPython } from "../../src/weights/python.ts";
import { LlamaServer } from "../llama-server.ts";
import { examine } from "./examine.ts";

const signal = AbortSignal.timeout(300_000);
/** A base model goes on until it is cut: short answers, and always the same. */
const params = { max_tokens: 64, temperature: 0 };

/** Checks that a model without a key does not have. */
const keyless = ["key", "wrong_key"];

function assertInOrder(outcomes: Outcome[]): void {
  const passed = checks.map(({ name }) => name).filter((name) => !keyless.includes(name));
  assert.deepEqual(
    outcomes
      .filter(({ state }) => state !== "not_applicable")
      .map(({ check, state, ...more }) => (state === "passed" ? check : { check, state, ...more })),
    passed,
  );
}

test("the embedded model passes its doctor", { timeout: 300_000 }, async () => {
  assertInOrder(await examine({ provider: "embedded", params: { ...params, context_size: 1024 } }));
});

// The server comes in a wheel. A machine without Python says so here instead of failing.
const skip = await findPython(signal).then(
  () => false,
  (error: Error) => error.message,
);

suite("a real llama-server passes its doctor", { skip }, () => {
  let server: LlamaServer;
  before(async () => void (server = await LlamaServer.start(await prepareWeights({ signal }), signal)), {
    timeout: 300_000,
  });
  after(() => server?.[Symbol.asyncDispose]());

  for (const [provider, format] of [
    ["llama-server", "OpenAI"],
    ["anthropic", "Anthropic"],
  ]) {
    test(`in ${format}'s format`, { timeout: 120_000 }, async () => {
      const stop = ["<|im_end|>", "</tool_call>"];
      assertInOrder(await examine({ provider, base_url: server.baseUrl, params: { ...params, stop } }));
    });
  }
});
