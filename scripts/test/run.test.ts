import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { test, type TestContext } from "node:test";
import { runNode } from "../run.ts";

test("a program's output and its exit are told", async () => {
  const fine = await runNode(["-e", "console.log('out'); console.error('err')"], 60_000);
  assert.equal(fine.ok, true);
  assert.deepEqual(fine.output.trim().split("\n").sort(), ["err", "out"]);
  assert.equal((await runNode(["-e", "process.exit(3)"], 60_000)).ok, false);
});

test("at the deadline the program and what it started are ended, and the output says so", async (t) => {
  const grandchild = await listen(t);
  const { ok, output } = await runNode(["-e", grandchild.start], 4000);
  assert.equal(ok, false);
  assert.match(output, /not done after 4 s: ended/);
  assert.match(output, /ended by SIGKILL/);
  await grandchild.ended();
});

test("what a program leaves running is ended with it", async (t) => {
  const grandchild = await listen(t);
  const { ok } = await runNode(["-e", `${grandchild.start}.stdout.once("data", () => process.exit(0))`], 60_000);
  assert.equal(ok, true);
  await grandchild.ended();
});

/** A program that starts another, which connects here and stays: its connection closes when it has ended. */
async function listen(t: TestContext) {
  const server = createServer().listen(0, "127.0.0.1");
  t.after(() => server.close());
  await once(server, "listening");
  const closed = once(server, "connection").then(([socket]: Socket[]) => socket && once(socket.resume(), "close"));
  const { port } = server.address() as AddressInfo;
  const stays = `require("net").connect(${port}, "127.0.0.1", () => console.log("up")); setInterval(() => {}, 1e9);`;
  return {
    start: `require("child_process").spawn(process.execPath, ["-e", ${JSON.stringify(stays)}])`,
    ended: () => closed,
  };
}
