import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { suite, test } from "node:test";
import type { Outcome } from "../../src/check/index.ts";
import { main as contextMain } from "../../src/cli/demo/context.ts";
import { main as filesMain } from "../../src/cli/demo/toolsource.ts";
import { serveHttp } from "../../src/sdk/index.ts";
import { kinds } from "../../src/wire/index.ts";
import { checked, python, pythonServing } from "./checked.ts";

const plain = join(import.meta.dirname, "../fixtures/python");
const call = { name: "create-user-file", input: { path: "a.txt", content: "x" } };
const timeout = 180_000;
/** A stream that has nothing to say is listened to for 15 s, or left silent for 35: most of the time goes by in waiting. */
const concurrency = 7;

suite("what keeps the rules over HTTP passes every check", { concurrency }, () => {
  for (const sendAcks of [false, true]) {
    const acks = sendAcks ? ", with acknowledgements" : "";
    const [kind, main] = sendAcks ? (["context", contextMain] as const) : (["toolsource", filesMain] as const);
    test(`a ${kind} of the SDK that serves${acks}`, { timeout }, async (t) => {
      const token = randomUUID();
      const serving = await serveHttp(main, { sendAcks, token });
      t.after(() => serving.close());
      const outcomes = await checked({ ref: serving.url, kind, token }, { call });
      assert.deepEqual(wrongOf(outcomes), []);
      assert.equal(stateOf(outcomes, /Where it announces acks/), sendAcks ? "passed" : "not_applicable");
    });
    test(`a context of the SDK that dials in${acks}`, { timeout }, async () => {
      const command = ["node", "sdk-dials.ts", ...(sendAcks ? ["acks", "sse"] : [])];
      const component = { kind: "context" as const, entry: { type: "stdio" as const, command } };
      const outcomes = await checked(component, { dialsIn: true });
      assert.deepEqual(wrongOf(outcomes), []);
      assert.equal(stateOf(outcomes, /where it announces acks/), sendAcks ? "passed" : "not_applicable");
    });
  }

  for (const kind of ["ui", "toolsource"] as const) {
    test(`a ${kind} in plain Python that serves, by all the rules of its kind`, { timeout }, async (t) => {
      assert.deepEqual(wrongOf(await checked(await pythonServing(t, kind))), []);
    });
    test(`a ${kind} in plain Python that dials in, by all the rules of its kind`, { timeout }, async () => {
      assert.deepEqual(wrongOf(await checked(python(kind), { dialsIn: true })), []);
    });
  }

  const calls = { toolsource: { name: "create-user-file", input: { path: "a.txt" } } };
  for (const kind of kinds) {
    test(`the ${kind} that was written from the spec alone, where it serves`, { timeout }, async (t) => {
      const component = await pythonServing(t, kind, "", plain);
      const outcomes = await checked(component, kind === "toolsource" ? { call: calls[kind] } : {});
      assert.deepEqual(wrongOf(outcomes), []);
    });
  }
});

/** All but what passed, and what cannot be seen of one that announces no acknowledgements, or calls no tool. */
function wrongOf(outcomes: readonly Outcome[]): string[] {
  assert.ok(outcomes.some(({ rule, state }) => rule === "HTP-8" && state === "passed"));
  const wrong = outcomes.filter(
    ({ state, why = "" }) => state !== "passed" && !/announces (?:no )?acks|called no tool here/.test(why),
  );
  return wrong.map(({ rule, title, why, got }) => `${rule} ${title}: ${why ?? got}`);
}

function stateOf(outcomes: readonly Outcome[], title: RegExp): string | undefined {
  return outcomes.find((one) => title.test(one.title))?.state;
}
