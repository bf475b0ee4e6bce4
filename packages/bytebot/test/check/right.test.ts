import assert from "node:assert/strict";
import { join } from "node:path";
import { suite, test } from "node:test";
import { reach } from "../../src/app/reach.ts";
import { run, type Outcome } from "../../src/check/index.ts";
import { kinds, type Kind } from "../../src/wire/index.ts";
import { answer, ScriptedServer } from "../../../../satellites/bb-infer/test/scripted-server.ts";
import { checked, python } from "./checked.ts";

const dist = join(import.meta.dirname, "../../dist");
const fixtures = join(import.meta.dirname, "fixtures");
const satellites = join(import.meta.dirname, "../../../../satellites");

suite("what keeps the rules passes every check of its kind", () => {
  for (const kind of kinds) {
    test(`a ${kind} in plain Python`, async () => {
      assert.deepEqual(wrongOf(await checked(python(kind))), []);
    });
  }

  test("an infer that takes messages in the shape of OpenAI's", async () => {
    assert.deepEqual(wrongOf(await checked(python("infer", "openai"))), []);
  });

  test("a toolsource of the SDK", async () => {
    assert.deepEqual(wrongOf(await checked({ kind: "toolsource", entry: stdio("node", "sdk.ts") })), []);
  });

  const opts: Partial<Record<Kind, Record<string, unknown>>> = { ui: { text: "ship it", scope: "u_7f3a" } };
  // Of the demo the ui answers no question by itself, and the infer says its own text.
  const says = { ui: ["QUE-4", "QUE-4"], context: [], infer: ["FRM-1"], toolsource: [] };
  for (const kind of ["ui", "context", "infer", "toolsource"] as const) {
    test(`the demo's ${kind}`, async () => {
      const entry = stdio("node", join(dist, "cli/demo/child.js"), kind);
      const call = { name: "create-user-file", input: { path: "a.txt", content: "x" } };
      assert.deepEqual(wrongOf(await checked({ kind, entry, opts: opts[kind] }, { call })), says[kind]);
    });
  }

  test("bb-tools, with the calls that its annotations allow", async () => {
    assert.deepEqual(wrongOf(await checked({ ref: join(satellites, "bb-tools") })), []);
  });

  test("bb-infer, with a server that says what a script says", { timeout: 120_000 }, async (t) => {
    const server = await ScriptedServer.start(answer("Once ", "upon ", "a time."));
    t.after(() => server[Symbol.asyncDispose]());
    const component = { ref: join(satellites, "bb-infer"), opts: { base_url: server.baseUrl, model: "m" } };
    // What it would call, it was not asked to, and what it says is the server's own: that is not applicable.
    const outcomes = await checked(component);
    assert.deepEqual(wrongOf(outcomes), ["FRM-1", "CHK-6", "TRN-5"]);
    assert.ok(outcomes.every(({ state }) => state === "passed" || state === "not_applicable"));
  });

  test("bb-chat, which is reached in this process: what is seen of bytes alone is not applicable, and said so", async () => {
    const component = { ref: join(satellites, "bb-chat"), opts: { once: "ship it" } };
    const outcomes = await checked(component);
    assert.deepEqual(
      outcomes.filter(({ state }) => state === "failed"),
      [],
    );
    const skipped = outcomes.filter(({ why }) => /seen of bytes/.test(why ?? "")).map(({ rule }) => rule);
    for (const rule of ["FRM-1", "FRM-3", "FRM-4"]) assert.ok(skipped.includes(rule), rule);
    // What is about another way to be reached is told of where it was asked for, and nowhere else.
    for (const rule of ["FRM-2", "CON-8", "HTP-6"]) {
      assert.ok(!outcomes.some((one) => one.rule === rule), rule);
      const [asked] = await checked(component, { rules: [rule] });
      assert.match(asked?.why ?? "", /reached otherwise/);
    }
  });
});

test("a tool that is not annotated read_only is called only where the person allows it", async () => {
  const component = python("toolsource", "no-read-only");
  const without = await checked(component, { rules: ["TOL-5"] });
  assert.match(without[0]!.why ?? "", /no tool is annotated read_only.*--call/);
  const call = { name: "count", input: { text: "a" } };
  assert.deepEqual(wrongOf(await checked(component, { rules: ["TOL-5"], call })), []);
});

test("a run that is stopped ends what is under way, and waits for no answer", { timeout: 25_000 }, async () => {
  const stop = new AbortController();
  const reached = await reach(python("context", "silent-cancel"), { base: fixtures, print: () => undefined });
  const running: Promise<unknown>[] = [];
  const start = reached.start!;
  reached.start = async (...args) => {
    const streams = await start(...args);
    running.push(streams.exited);
    const write = streams.writable.write.bind(streams.writable) as (data: string) => boolean;
    // The answer to this never comes, and is waited for 30 s.
    const heard = (data: string) => (String(data).includes("bb_cancel") && stop.abort(), write(data));
    streams.writable.write = heard as typeof streams.writable.write;
    return streams;
  };
  const outcomes = run(reached, { rules: ["ENV-1"], signal: stop.signal });
  await assert.rejects(outcomes.next(), /the run was stopped/);
  assert.ok(running.length >= 4);
  await Promise.all(running);
});

/** All but what passed. */
function wrongOf(outcomes: readonly Outcome[]): string[] {
  assert.ok(outcomes.length > 20 || outcomes.every(({ rule }) => rule === "TOL-5"));
  return outcomes.filter(({ state }) => state !== "passed").map(({ rule }) => rule);
}

function stdio(...command: string[]) {
  return { type: "stdio" as const, command };
}
