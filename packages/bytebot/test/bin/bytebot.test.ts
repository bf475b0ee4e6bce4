import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

const bin = join(import.meta.dirname, "../../bin");
/** This Node, said to be an old one: only what the launcher reads differs. */
const asOld = ["--import", `data:text/javascript,Object.defineProperty(process,"version",{value:"v14.0.0"})`];

/** A checkout of the launcher and a program in the CLI's place; with `own`, the Node the checkout brought. */
async function checkout(t: TestContext, main: string | undefined, own?: { version: string }): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "bytebot-bin-")));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const launcher = join(folder, "packages/bytebot/bin/bytebot.js");
  await mkdir(join(folder, "packages/bytebot/dist/cli"), { recursive: true });
  for (const name of ["bytebot.js", "launch.js"]) await cp(join(bin, name), join(folder, "packages/bytebot/bin", name));
  await writeFile(join(folder, "packages/bytebot/package.json"), `{ "type": "module" }`);
  if (main !== undefined) await writeFile(join(folder, "packages/bytebot/dist/cli/main.js"), main);
  if (own) {
    const windows = process.platform === "win32";
    const home = join(folder, `node_modules/node-${windows ? "win" : process.platform}-${process.arch}`);
    await mkdir(join(home, "bin"), { recursive: true });
    await writeFile(join(home, "package.json"), JSON.stringify({ version: own.version }));
    await symlink(process.execPath, join(home, "bin", windows ? "node.exe" : "node"));
  }
  return launcher;
}

function start(t: TestContext, args: string[]) {
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "pipe"], signal: t.signal });
  const output = { out: "", err: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output.out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (output.err += text));
  const done = once(child, "close").then(([code, signal]: unknown[]) => ({ code, signal, ...output }));
  return { child, done };
}

test("on a Node that is new enough the CLI runs in the same process, with its arguments", async (t) => {
  const launcher = await checkout(t, "console.log(process.pid, ...process.argv.slice(2)); process.exitCode = 7;");
  const { child, done } = start(t, [launcher, "chat", "--once", "a b"]);
  assert.deepEqual(await done, { code: 7, signal: null, out: `${child.pid} chat --once a b\n`, err: "" });
});

test("on an old Node the checkout's own takes over: same arguments, same stdin, same exit code", async (t) => {
  const main = `for await (const text of process.stdin) console.log(String(text), ...process.argv.slice(2), process.version); process.exitCode = 7;`;
  const launcher = await checkout(t, main, { version: process.versions.node });
  const { child, done } = start(t, [...asOld, launcher, "chat", "a b"]);
  child.stdin.end("typed");
  assert.deepEqual(await done, { code: 7, signal: null, out: `typed chat a b ${process.version}\n`, err: "" });
});

test("a signal reaches the program on the checkout's Node, and what it made of it is the launcher's end too", async (t) => {
  const main = `setInterval(() => {}, 1e9); process.once("SIGTERM", () => { console.log("told"); process.kill(process.pid, "SIGTERM"); }); console.log("up");`;
  const launcher = await checkout(t, main, { version: process.versions.node });
  const { child, done } = start(t, [...asOld, launcher]);
  await once(child.stdout, "data");
  child.kill("SIGTERM");
  assert.deepEqual(await done, { code: null, signal: "SIGTERM", out: "up\ntold\n", err: "" });
});

test("on an old Node with none of the checkout's, or one as old, one sentence says how to get it", async (t) => {
  const message =
    /^bytebot needs Node 22\.19 or later, and this is v14\.0\.0: run npm ci in the checkout, or get Node from .*\n$/;
  for (const own of [undefined, { version: "22.18.0" }]) {
    const { code, out, err } = await start(t, [...asOld, await checkout(t, "console.log('ran')", own)]).done;
    assert.deepEqual([code, out], [1, ""]);
    assert.match(err, message);
  }
});

test("a checkout that was not built says so", async (t) => {
  const { code, err } = await start(t, [await checkout(t, undefined)]).done;
  assert.deepEqual([code, err], [1, "bytebot is not built: run npm run prepare in its checkout.\n"]);
});
