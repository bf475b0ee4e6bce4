import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { createServer } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { askingModule } from "./apps.ts";
import { Cli, folder } from "./cli.ts";

const timeout = 60_000;

async function running(t: TestContext) {
  const cwd = await folder(t, { "app.ts": askingModule() });
  const env = { TMPDIR: cwd };
  const app = new Cli(t, ["run", "app.ts"], { cwd, env });
  await app.until("the ui", ({ out }) => out.includes("person"));
  const tail = async (...args: string[]) => {
    const started = new Cli(t, ["tail", ...args], { cwd, env });
    await started.until("that it has joined", ({ out }) => out.includes("\n"));
    return started;
  };
  return { app, cwd, env, tail, ask: () => process.kill(app.pid, "SIGUSR2") };
}

test("tail joins a running app, sees a whole turn as JSON lines, and ends with the app", { timeout }, async (t) => {
  const { app, tail, ask } = await running(t);
  const seen = await tail();
  ask();
  const idle = (scope: string) =>
    seen
      .lines()
      .some((line) => line["event_type"] === "scope_state" && line["state"] === "idle" && line["scope"] === scope);
  await seen.until("the end of both turns", () => idle("u_1") && idle("u_2"));
  const types = seen
    .lines()
    .filter(({ scope }) => scope === "u_1")
    .map(({ event_type }) => event_type);
  for (const type of [
    "user_event",
    "bb_infer_request",
    "infer_chunk",
    "bb_tool_call_request",
    "bb_tool_call_result",
    "bb_infer_result",
  ]) {
    assert.ok(types.includes(type), `${type} is missing: ${types.join(" ")}`);
  }
  assert.equal(
    seen.lines().find(({ event_type, scope }) => event_type === "user_event" && scope === "u_1")?.["text"],
    "one",
  );
  app.kill("SIGTERM");
  assert.deepEqual(((end) => [end.code, end.err])(await seen.done), [0, ""]);
  assert.equal((await app.done).code, 0);
});

test("--scope and --type narrow what tail prints, and --pid names the app", { timeout }, async (t) => {
  const { app, tail, ask } = await running(t);
  const all = await tail("--pid", String(app.pid));
  const [narrow, typed] = [
    await tail("--scope", "u_2"),
    await tail("--type", "user_event,scope_state", "--type", "bb_infer_result"),
  ];
  ask();
  for (const each of [all, narrow]) {
    await each.until("the end of u_2", () =>
      each.lines().some(({ scope, state }) => scope === "u_2" && state === "idle"),
    );
  }
  await typed.until(
    "two inputs",
    () => typed.lines().filter(({ event_type }) => event_type === "user_event").length === 2,
  );
  assert.deepEqual(new Set(narrow.lines().map(({ scope }) => scope)), new Set([undefined, "u_2"]));
  const asked = ["user_event", "scope_state", "bb_infer_result", "bb_live"];
  assert.deepEqual(
    typed.lines().filter(({ event_type }) => !asked.includes(String(event_type))),
    [],
  );
});

test("a reader that leaves ends tail quietly, and the app goes on", { timeout }, async (t) => {
  const { app, tail, ask } = await running(t);
  const [first, second] = [await tail(), await tail()];
  first.stopReading();
  ask();
  assert.deepEqual(((end) => [end.code, end.err])(await first.done), [0, ""]);
  await second.until("the turn", () => second.lines().some(({ state }) => state === "idle"));
  app.kill("SIGTERM");
  assert.equal((await app.done).code, 0);
});

test(
  "without a running app tail says where it looked, and what a killed app left behind is no app",
  { timeout },
  async (t) => {
    const cwd = await folder(t);
    const env = { TMPDIR: cwd, XDG_RUNTIME_DIR: cwd };
    const says = /^bytebot: no running app has its socket in .*bytebot: start one with bytebot run or bytebot chat\n$/;
    const none = await new Cli(t, ["tail"], { env }).done;
    assert.equal(none.code, 1);
    assert.match(none.err, says);
    await mkdir(join(cwd, "bytebot"), { mode: 0o700 });
    const app = new Cli(t, ["run", "app.ts"], { cwd: await folder(t, { "app.ts": askingModule() }), env });
    await app.until("the ui", ({ out }) => out.includes("person"));
    app.kill("SIGKILL");
    await app.done;
    assert.match((await new Cli(t, ["tail"], { env }).done).err, says);
    const named = await new Cli(t, ["tail", "--pid", String(app.pid)], { env }).done;
    assert.equal(named.code, 1);
    assert.match(named.err, /^bytebot: nothing listens on .*\.sock: start the app first/);
  },
);

test("what listens there and hangs up is told as such", { timeout }, async (t) => {
  const cwd = await folder(t);
  const path = join(cwd, "other.sock");
  const server = createServer((socket) => socket.destroy()).listen(path);
  t.after(() => server.close());
  await once(server, "listening");
  const { code, err } = await new Cli(t, ["tail", "--socket", path]).done;
  assert.equal(code, 1);
  assert.match(err, /^bytebot: [^\n]+\n$/);
});

test(
  "--since prints what is in the log after a cursor, or all of it, then what happens; --no-follow ends there (RPL-3, RPL-6)",
  { timeout },
  async (t) => {
    const { app, cwd, env, tail, ask } = await running(t);
    const live = await tail("--scope", "u_1");
    ask();
    await live.until("the end of u_1", () => live.lines().some(({ state }) => state === "idle"));
    const logged = (cli: Cli) =>
      cli
        .lines()
        .flatMap(({ event_type, cursor }) =>
          event_type === "bb_live" || cursor === undefined ? [] : [[event_type, cursor]],
        );
    const once = async (...args: string[]) => {
      const cli = new Cli(t, ["tail", "--scope", "u_1", ...args], { cwd, env });
      const { code, err } = await cli.done;
      return { code, err, logged: logged(cli) };
    };
    const all = await once("--since", "start", "--no-follow");
    assert.deepEqual([all.code, all.err, all.logged], [0, "", logged(live)]);
    const at = Math.floor(all.logged.length / 2);
    const cursor = String(all.logged[at]![1]);
    const later = all.logged.slice(all.logged.findLastIndex(([, each]) => each === cursor) + 1);
    assert.deepEqual((await once("--since", cursor, "--no-follow")).logged, later);
    assert.deepEqual((await once("--no-follow")).logged, []);
    const following = await tail("--scope", "u_1", "--since", cursor);
    ask();
    await following.until(
      "the next turn",
      () => following.lines().filter(({ kind }) => kind === "loop_done").length === 2,
    );
    assert.deepEqual(logged(following).slice(0, later.length), later);
    const wrong = await once("--since", "10m");
    assert.deepEqual(
      [wrong.code, wrong.err],
      [2, 'bytebot: --since "10m" is neither start nor the cursor of an event; see bytebot tail --help\n'],
    );
    const other = await once("--since", "m000000000000:4.0");
    assert.equal(other.code, 1);
    assert.match(other.err, /^bytebot: resume: none of these is a cursor of this log/);
    app.kill("SIGTERM");
    assert.equal((await app.done).code, 0);
  },
);
