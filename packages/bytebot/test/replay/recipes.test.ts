import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { main as infer } from "../../src/cli/demo/infer.ts";
import { main as toolsource } from "../../src/cli/demo/toolsource.ts";
import { ByteBot, openSqliteLog } from "../../src/index.ts";
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

test("what bytebot log export writes of a log on disk is replayed", { timeout }, async (t) => {
  const cwd = await folder(t);
  const { log, blobs } = await openSqliteLog({ file: join(cwd, "bytebot.db") });
  const hub = new ByteBot({ log, blobs });
  hub.attachInfer({ main: infer, kind: "infer", name: "scripted" }, { primary: true });
  hub.attach({ main: toolsource, kind: "toolsource", name: "files" });
  await hub.start();
  const turn = hub.events("u_1", { types: ["scope_state"] });
  await hub.send("u_1", "write this down");
  for await (const { state } of turn) if (state === "idle") break;
  await hub.stop();
  const exported = await new Cli(t, ["log", "export"], { cwd }).done;
  assert.equal(exported.code, 0, exported.err);
  const { code, out } = await new Cli(t, ["replay", "-"], { cwd, input: exported.out }).done;
  assert.deepEqual([code, out], [0, "same  u_1: 11 events\n\n1 the same, 0 different\n"]);
});
