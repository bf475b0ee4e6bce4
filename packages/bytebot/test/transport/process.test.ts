import assert from "node:assert/strict";
import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { test, type TestContext } from "node:test";
import { text } from "node:stream/consumers";
import { fixtures } from "./wrappers.ts";

/** A satellite on the SDK's side of stdio, and us as a Hub that only has the raw streams. */
function satellite(t: TestContext): { process: ChildProcessWithoutNullStreams; ended: Promise<unknown> } {
  const process_ = spawn(process.execPath, ["echo-child.ts"], { cwd: fixtures });
  t.after(() => process_.kill("SIGKILL"));
  return { process: process_, ended: once(process_, "exit", { signal: AbortSignal.timeout(10_000) }) };
}

test("a satellite exits by itself when its stdin ends, after it has answered all it was sent", async (t) => {
  const { process, ended } = satellite(t);
  const line = `${JSON.stringify({ event_type: "big", text: "x".repeat(1_000_000) })}\n`;
  process.stdin.end(line.repeat(8));
  const lines = (await text(process.stdout)).trimEnd().split("\n");
  assert.deepEqual(await ended, [0, null]);
  assert.equal(lines.length, 1 + 8);
  assert.equal(JSON.parse(lines[8]!).event.text.length, 1_000_000);
});

test("a satellite whose Hub is gone in mid-write exits by itself, without a crash", async (t) => {
  const { process, ended } = satellite(t);
  const said = text(process.stderr);
  await once(process.stdout, "data");
  process.stdout.destroy();
  process.stdin.write(`${JSON.stringify({ event_type: "flood", count: 100_000 })}\n`);
  assert.deepEqual(await ended, [0, null]);
  assert.doesNotMatch(await said, /Error|EPIPE/);
});

test("a satellite whose stderr is closed prints into nothing and goes on", async (t) => {
  const { process, ended } = satellite(t);
  process.stderr.destroy();
  const print = `${JSON.stringify({ event_type: "print", text: "x".repeat(100_000) })}\n`;
  process.stdin.end(`${print.repeat(3)}${JSON.stringify({ event_type: "after" })}\n`);
  const lines = (await text(process.stdout)).trimEnd().split("\n");
  assert.deepEqual(JSON.parse(lines.at(-1)!), { event_type: "echo", event: { event_type: "after" } });
  assert.deepEqual(await ended, [0, null]);
});
