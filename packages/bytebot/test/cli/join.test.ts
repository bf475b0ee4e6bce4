import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { command } from "../../src/cli/chat.ts";
import { appOf } from "./apps.ts";
import { Cli, folder } from "./cli.ts";

const timeout = 60_000;
const TOKEN = "a-token-of-this-test-long-enough-to-be-one";

async function served(t: TestContext, policy: object[] = []) {
  const files = appOf("tools", "infer");
  const cwd = await folder(t, {
    ...files,
    "bytebot.app.json": { ...files["bytebot.app.json"], policy, log: "memory" },
  });
  const env = { TMPDIR: cwd, BYTEBOT_TOKEN: TOKEN };
  const app = new Cli(t, ["run", "--listen", "0"], { cwd, env });
  await app.until("that it listens", ({ err }) => /listening on http/.test(err));
  const url = /listening on (http:\/\/[^,\s]+)/.exec(app.err)![1]!;
  const chat = (args: string[], more: Record<string, string> = {}) =>
    new Cli(t, ["chat", ...args], { cwd, env: { ...env, ...more } }).done;
  return { app, url, chat };
}

test(
  "chat --hub is another screen of an app that is served, and --join of one on this machine",
  { timeout },
  async (t) => {
    const { app, url, chat } = await served(t);
    for (const place of [["--hub", url], ["--join"], ["--pid", String(app.pid)]]) {
      const { code, out, err } = await chat([...place, "--once", "hello"]);
      assert.equal(code, 0, err);
      assert.match(out, /Done\. The tool answered: created note-\d\.txt/);
    }
    app.kill("SIGTERM");
    assert.equal((await app.done).code, 0);
  },
);

test(
  "a guest declines nothing, as somebody else may answer; with --yes it approves what the policy asks about",
  { timeout },
  async (t) => {
    const { url, chat } = await served(t, [{ tool: "*", decision: "ask" }]);
    const nobody = await chat(["--hub", url, "--once", "hello"]);
    assert.deepEqual([nobody.code, /declined|approved/.test(nobody.err)], [0, false]);
    assert.match(nobody.err, /→ denied/);
    const yes = await chat(["--hub", url, "--yes", "--once", "hello"]);
    assert.equal(yes.code, 0);
    assert.match(yes.err, /^approved, as you said yes to all: may [\w/-]+ run\?.*\n.*→ ok/);
  },
);

test("what the policy denies is denied, whatever --yes says", { timeout }, async (t) => {
  const { chat } = await served(t, [{ tool: "*", decision: "deny" }]);
  const { code, err } = await chat(["--join", "--yes", "--once", "hello"]);
  assert.equal(code, 0);
  assert.match(err, /→ denied/);
  assert.doesNotMatch(err, /approved/);
});

test("an app that cannot be joined is one sentence", { timeout }, async (t) => {
  const cwd = await folder(t, { "bytebot.app.json": {} });
  const done = (args: string[], env: Record<string, string> = {}) =>
    new Cli(t, ["chat", ...args], { cwd, env: { TMPDIR: cwd, BYTEBOT_TOKEN: "", ...env } }).done;
  const { code, err } = await done(["--join", "--once", "hello"]);
  assert.equal(code, 1);
  assert.match(err, /^bytebot: no running app has its socket in .*: start one with bytebot run or bytebot chat\n$/);
});

for (const [args, says] of [
  [["--hub", "localhost:80"], /--hub "localhost:80" is no URL of an app/],
  [["--hub", "http://127.0.0.1:9"], /--hub needs the app's token in the environment variable BYTEBOT_TOKEN/],
  [["--hub", "http://127.0.0.1:9", "--join"], /--hub names an app by its URL, and --join, --pid and --socket one/],
  [["--join", "--model", "x"], /--model is for an app that is started, and this joins one/],
  [["bytebot.app.json", "--join"], /bytebot\.app\.json is for an app that is started/],
  [["--pid", "x"], /--pid x is no process id/],
] as const) {
  test(`a command line that contradicts itself says so: chat ${args.join(" ")}`, async () => {
    const token = process.env["BYTEBOT_TOKEN"];
    delete process.env["BYTEBOT_TOKEN"];
    await assert.rejects(command.run([...args, "--once", "hello"]), { name: "UsageError", message: says });
    if (token !== undefined) process.env["BYTEBOT_TOKEN"] = token;
  });
}

test("a token that the app does not know is refused in one sentence", { timeout }, async (t) => {
  const { url, chat } = await served(t);
  const { code, err } = await chat(["--hub", url, "--once", "hello"], { BYTEBOT_TOKEN: "another" });
  assert.equal(code, 1);
  assert.match(err, /^bytebot: [^\n]*the token is missing or wrong[^\n]*\n$/);
});
