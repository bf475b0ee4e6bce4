import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { constants } from "node:os";
import { createInterface } from "node:readline";
import { suite, test, type TestContext } from "node:test";
import { child } from "../../src/transport/index.ts";
import { becomes, Ears } from "./ears.ts";
import { carrying, catches, childrenOf, descendantsOf, isRunning } from "./processes.ts";
import { fixtures, stubborn } from "./wrappers.ts";

const GONE_MS = 5000;

/** A program of its own with these satellites, all of which carry the tag. */
async function owner(
  t: TestContext,
  commands: readonly (readonly string[])[],
): Promise<{ program: ChildProcess; tag: string }> {
  const tag = `BYTEBOT_TEST=${randomUUID()}`;
  const [name = "", value] = tag.split("=");
  const program = spawn(process.execPath, ["owner.ts", JSON.stringify([commands, { [name]: value }])], {
    cwd: fixtures,
    detached: true,
    stdio: ["pipe", "pipe", "inherit"],
  });
  t.after(() => {
    for (const pid of [...carrying(tag), program.pid!]) if (isRunning(pid)) process.kill(pid, "SIGKILL");
  });
  const lines = createInterface({ input: program.stdout });
  assert.deepEqual(await once(lines, "line", { signal: AbortSignal.timeout(20_000) }), ["all run"]);
  return { program, tag };
}

async function healthyChild(t: TestContext): Promise<{ answers: () => Promise<unknown> }> {
  const ears = new Ears();
  const options = {
    name: "healthy",
    command: ["node", "echo-child.ts"],
    cwd: fixtures,
    env: {},
    allowEnv: [],
    onStderr() {},
  };
  const link = await child(options)(ears, t.signal);
  t.after(() => link.close("the test is over"));
  const answers = (): Promise<unknown> => {
    link.send({ event_type: "ping" });
    return ears.next("echo");
  };
  await answers();
  return { answers };
}

/** The one child of the program that is no satellite. */
function guardOf(program: ChildProcess, tag: string): number | undefined {
  const satellites = carrying(tag);
  return childrenOf(program.pid!).find((pid) => !satellites.includes(pid));
}

suite("nothing outlives its program", { concurrency: 3 }, () => {
  test("after SIGKILL of the program nothing of its satellites is left, however they were started; other programs' satellites go on", async (t) => {
    const [ours, { program, tag }, other] = await Promise.all([
      healthyChild(t),
      owner(t, Object.values(stubborn)),
      owner(t, [["node", "stubborn.mjs"]]),
    ]);
    const theirs = new Set([...carrying(tag), ...descendantsOf(program.pid!)]);
    assert.ok(theirs.size >= 11, `5 satellites, 5 that wrap them and a guard, not ${theirs.size}`);
    const others = carrying(other.tag);

    program.kill("SIGKILL");
    await becomes("nothing is left", () => carrying(tag).length === 0 && ![...theirs].some(isRunning), GONE_MS);
    assert.deepEqual(carrying(other.tag), others);
    await ours.answers();

    process.kill(other.program.pid!, "SIGKILL");
    await becomes("nothing is left of the other", () => carrying(other.tag).length === 0, GONE_MS);
  });

  test("Ctrl-C in the terminal, which ends the program and not its guard, leaves nothing either", async (t) => {
    const { program, tag } = await owner(t, [stubborn["under a shell script"]!]);
    const children = childrenOf(program.pid!);
    process.kill(-program.pid!, "SIGINT");
    await becomes("nothing is left", () => carrying(tag).length === 0 && !children.some(isRunning), GONE_MS);
  });

  test("a program that closes its satellites ends by itself, and its guard with it", async (t) => {
    const { program, tag } = await owner(t, [["node", "stubborn.mjs"], stubborn["under a package runner"]!]);
    const children = childrenOf(program.pid!);
    program.stdin!.write("close\n");
    const [code] = (await once(program, "exit", { signal: AbortSignal.timeout(10_000) })) as [number | null];
    assert.equal(code, 0);
    assert.deepEqual([...carrying(tag), ...children.filter(isRunning)], []);
  });

  test("a guard that was killed is replaced, and the new one knows the satellites too", async (t) => {
    const { program, tag } = await owner(t, [["node", "stubborn.mjs"]]);
    const first = guardOf(program, tag)!;
    process.kill(first, "SIGKILL");
    await becomes("another guard is awake", () => {
      const guard = guardOf(program, tag);
      return guard !== undefined && guard !== first && catches(guard, constants.signals.SIGHUP);
    });
    program.kill("SIGKILL");
    await becomes("nothing is left", () => carrying(tag).length === 0, GONE_MS);
  });

  test("a guard that is told to end, as all are when a machine goes down, ends after the satellites", async (t) => {
    const { program, tag } = await owner(t, [["node", "stubborn.mjs"]]);
    const guard = guardOf(program, tag)!;
    await becomes("the guard is awake", () => catches(guard, constants.signals.SIGHUP));
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.kill(guard, signal);
    program.kill("SIGKILL");
    await becomes("nothing is left", () => carrying(tag).length === 0 && !isRunning(guard), GONE_MS);
  });
});
