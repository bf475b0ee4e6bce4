import assert from "node:assert/strict";
import { test } from "node:test";
import { askingModule } from "../cli/apps.ts";
import { Cli, folder } from "../cli/cli.ts";

const timeout = 60_000;

test("what bytebot tail recorded of an app is replayed, of two tenants with a tool each", { timeout }, async (t) => {
  const cwd = await folder(t, { "app.ts": askingModule() });
  const env = { TMPDIR: cwd };
  const app = new Cli(t, ["run", "app.ts"], { cwd, env });
  await app.until("the ui", ({ out }) => out.includes("person"));
  const live = new Cli(t, ["tail"], { cwd, env });
  await live.until("that it has joined", ({ out }) => out.includes("\n"));
  process.kill(app.pid, "SIGUSR2");
  const ended = (): number => live.lines().filter(({ kind }) => kind === "loop_done").length;
  await live.until("the end of both turns", () => ended() === 2);
  const recorded = await new Cli(t, ["tail", "--since", "start", "--no-follow"], { cwd, env }).done;
  app.kill("SIGTERM");
  await Promise.all([app.done, live.done]);
  for (const input of [recorded.out, live.out]) {
    const { code, out } = await new Cli(t, ["replay", "-"], { cwd, input }).done;
    assert.deepEqual([code, out], [0, "same  u_1: 11 events\nsame  u_2: 11 events\n\n2 the same, 0 different\n"]);
  }
});

test("what bytebot demo --transcript prints is replayed", { timeout }, async (t) => {
  const demo = await new Cli(t, ["demo", "--transcript"]).done;
  const { code, out } = await new Cli(t, ["replay", "-"], { input: demo.out }).done;
  assert.deepEqual([code, out], [0, "same  u_7f3a: 11 events\n\n1 the same, 0 different\n"]);
});
