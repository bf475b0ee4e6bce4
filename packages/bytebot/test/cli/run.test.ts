import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { appOf, askingModule, components } from "./apps.ts";
import { Cli, eventually, folder, leftOf } from "./cli.ts";

const timeout = 60_000;

test("run prints a line for each component, lasts until SIGTERM, and leaves nothing", { timeout }, async (t) => {
  const cwd = await folder(t, appOf("tools", "context"));
  const cli = new Cli(t, ["run"], { cwd, env: { TMPDIR: cwd } });
  await cli.until("two lines", ({ out }) => out.split("\n").length === 3);
  assert.match(cli.out, /^context +context +context +primary, controller\ntools +toolsource +tools +primary\n$/);
  assert.equal(leftOf(cwd).length, 2);
  const sockets = (await readdir(cwd)).find((name) => name.startsWith("bytebot-"))!;
  assert.deepEqual(await readdir(join(cwd, sockets)), [`${cli.pid}.sock`]);
  cli.kill("SIGTERM");
  const { code, signal, err } = await cli.done;
  assert.deepEqual({ code, signal, err }, { code: 0, signal: null, err: "" });
  assert.deepEqual(leftOf(cwd), []);
  assert.deepEqual(await readdir(join(cwd, sockets)), []);
});

test("run --json prints the components as JSON lines", { timeout }, async (t) => {
  const cwd = await folder(t, appOf("tools"));
  const cli = new Cli(t, ["run", "--json", "bytebot.app.json"], { cwd, env: { TMPDIR: cwd } });
  await cli.until("a line", ({ out }) => out.endsWith("\n"));
  assert.deepEqual(
    cli.lines().map(({ name, kind, state }) => ({ name, kind, state })),
    [{ name: "tools", kind: "toolsource", state: "synced" }],
  );
  cli.kill("SIGINT");
  assert.equal((await cli.done).code, 0);
});

test("run ends with its ui, and fails where the ui failed", { timeout }, async (t) => {
  const failing = `${askingModule().replace("await satellite.start();", `throw new Error("no screen here");`)}`;
  const cwd = await folder(t, { "app.ts": askingModule(2), "failing.ts": failing });
  const cli = new Cli(t, ["run", "app.ts"], { cwd, env: { TMPDIR: cwd } });
  await cli.until("the ui", ({ out }) => out.includes("person"));
  process.kill(cli.pid, "SIGUSR2");
  assert.deepEqual(((end) => [end.code, end.err])(await cli.done), [0, ""]);
  const { code, err } = await new Cli(t, ["run", "failing.ts"], { cwd, env: { TMPDIR: cwd } }).done;
  assert.deepEqual([code, err], [1, "person failed: no screen here\n"]);
});

const app = (fields: object) => ({ "bytebot.app.json": fields });
const wrong: [what: string, files: Record<string, string | object>, args: string[], says: RegExp][] = [
  ["no app file", {}, ["run"], /there is no .*bytebot\.app\.json: write one, as in \{"infer": .*, or name an app file/],
  [
    "a module in the chat",
    { "app.js": "export default 1;" },
    ["chat", "app.js"],
    /chat takes a bytebot\.app\.json; a module/,
  ],
  ["an app file that is not there", {}, ["run", "none.json"], /there is no .*none\.json/],
  [
    "an app file cut short",
    { "bytebot.app.json": `{"attach": [` },
    ["run"],
    /is not JSON: the file ends too early at line 1/,
  ],
  ["a misspelt key", app({ atach: ["./x"] }), ["run"], /unknown key "atach": did you mean "attach"\?/],
  [
    "a token that is not in the environment",
    app({ listen: { port: 0, tokens: [{ name: "phone", env: "PHONE_TOKEN" }] } }),
    ["run"],
    /the token of "phone" is in no environment variable PHONE_TOKEN/,
  ],
  ["a log in a folder that is not there", app({ log: "./none/events.db" }), ["run"], /there is no folder .*none/],
  ["a component that is not there", app({ attach: ["./none"] }), ["run"], /there is no .*none \(from "\.\/none"\)/],
  ["a package that is not installed", app({ attach: ["bb-none"] }), ["run"], /no package "bb-none" in node_modules/],
  ["a URL", app({ ui: "http://site:8081" }), ["run"], /http:\/\/site:8081\/stream cannot be reached/],
  [
    "a command that is not there",
    {
      ...appOf("tools"),
      "tools/bytebot.component.json": { ...components.tools, entry: { type: "stdio", command: ["no-such-program"] } },
    },
    ["run"],
    /"no-such-program"/,
  ],
  [
    "a component that dies in the handshake",
    appOf("tools", "mute"),
    ["run"],
    /mute.*exited with code 3.*no licence found/,
  ],
  [
    "what is not there",
    {},
    ["run", "nothing"],
    /there is no .*\/nothing: name a bytebot\.app\.json, the folder that holds it, or a \.js or \.ts module/,
  ],
  [
    "a module that throws",
    { "app.mjs": `throw new Error("half\\nwritten");` },
    ["run", "app.mjs"],
    /app\.mjs cannot be loaded: half written/,
  ],
  [
    "a module without an app",
    { "app.ts": `export default { start: 1 };` },
    ["run", "app.ts"],
    /app\.ts has no ByteBot as its default export/,
  ],
  [
    "a function that makes none",
    { "app.mjs": `export default async () => {};` },
    ["run", "app.mjs"],
    /has no ByteBot as its default export/,
  ],
];
for (const [what, files, args, says] of wrong) {
  test(`${what}: one sentence, exit code 1, nothing left running`, { timeout }, async (t) => {
    const cwd = await folder(t, files);
    const { code, out, err } = await new Cli(t, args, { cwd, env: { TMPDIR: cwd } }).done;
    assert.deepEqual([code, out], [1, ""]);
    const told = err.split("\n").filter((line) => line.startsWith("bytebot: "));
    assert.equal(told.length, 1, err);
    assert.match(told[0]!, says);
    assert.doesNotMatch(err, /\n +at /);
    assert.deepEqual(leftOf(cwd), []);
  });
}

test(
  "a component that dies after the handshake is started again, then left alone, and the app goes on",
  { timeout },
  async (t) => {
    const cwd = await folder(t, appOf("weak", "tools"));
    const cli = new Cli(t, ["run"], { cwd, env: { TMPDIR: cwd } });
    await cli.until("the end of its restarts", ({ err }) =>
      err.includes("weak crashed 5 times in 5 minutes and is left alone"),
    );
    assert.match(cli.err, /weak ended: it exited with code 3/);
    assert.equal(leftOf(cwd).length, 1);
    cli.kill("SIGTERM");
    assert.equal((await cli.done).code, 0);
    assert.deepEqual(leftOf(cwd), []);
  },
);

test("a second Ctrl-C ends it at once, and its children are ended all the same", { timeout }, async (t) => {
  const cwd = await folder(t, appOf("stubborn"));
  const cli = new Cli(t, ["run"], { cwd, env: { TMPDIR: cwd } });
  await cli.until("its line", ({ out }) => out.includes("stubborn"));
  cli.kill("SIGINT");
  // The first has been heard when the socket is gone: its clean end has begun.
  const folderOf = (await readdir(cwd)).find((name) => name.startsWith("bytebot-"))!;
  await eventually(async () => (await readdir(join(cwd, folderOf))).length === 0);
  cli.kill("SIGINT");
  assert.equal((await cli.done).signal, "SIGINT");
  await eventually(() => leftOf(cwd).length === 0);
});

test("a socket in use is refused, and the app that has it goes on", { timeout }, async (t) => {
  const cwd = await folder(t, appOf("tools"));
  const args = ["run", "--socket", join(cwd, "own", "app.sock")];
  const first = new Cli(t, args, { cwd, env: { TMPDIR: cwd } });
  await first.until("its line", ({ out }) => out.includes("tools"));
  const again = await new Cli(t, args, { cwd, env: { TMPDIR: cwd } }).done;
  assert.deepEqual([again.code, again.out], [1, ""]);
  assert.match(again.err, /^bytebot: the log .*bytebot\.db is in use by process \d+/, "one Hub for one log (DUR-2)");
  const second = await new Cli(t, [...args, "--memory"], { cwd, env: { TMPDIR: cwd } }).done;
  assert.deepEqual([second.code, second.out], [1, ""]);
  assert.match(second.err, /^bytebot: another process listens on .*app\.sock: end it, or choose another path\n$/);
  assert.equal(leftOf(cwd).length, 1);
  first.kill("SIGTERM");
  assert.equal((await first.done).code, 0);
});

test(
  "where the folder for its socket is open to others, the app runs and says why nobody can join",
  { timeout },
  async (t) => {
    const cwd = await folder(t, { ...appOf("tools"), "bytebot/other.txt": "" });
    const cli = new Cli(t, ["run"], { cwd, env: { TMPDIR: cwd, XDG_RUNTIME_DIR: cwd } });
    await cli.until("its line", ({ out }) => out.includes("tools"));
    assert.match(cli.err, /^bytebot tail cannot join this app: .* is open to other users/);
    cli.kill("SIGTERM");
    assert.equal((await cli.done).code, 0);
  },
);
