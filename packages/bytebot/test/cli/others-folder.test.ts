import assert from "node:assert/strict";
import { once } from "node:events";
import { chmod, lchown, mkdir, readdir, rename, symlink } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { appOf } from "./apps.ts";
import { Cli, folder } from "./cli.ts";

const timeout = 60_000;
const isRoot = process.getuid?.() === 0;
/** Not us, whoever that is. */
const ANOTHER = 4_242;

/** The folder that apps of this user have their sockets in, made by somebody else, who listens there. */
async function trap(t: TestContext, own: (path: string) => Promise<void>) {
  const cwd = await folder(t, appOf("tools"));
  const path = join(cwd, `bytebot-${process.getuid!()}`);
  await mkdir(path);
  const dialled: string[] = [];
  const server = createServer((socket) => {
    dialled.push("somebody");
    socket.destroy();
  }).listen(join(path, "1.sock"));
  await once(server, "listening");
  t.after(() => server.close());
  await own(path);
  return { cwd, path, dialled };
}

/** A way to it that another may point elsewhere. */
async function link(path: string): Promise<void> {
  await chmod(path, 0o700);
  await rename(path, `${path}-elsewhere`);
  await symlink(`${path}-elsewhere`, path);
  await lchown(path, ANOTHER, ANOTHER);
}

for (const [whose, says, skip, own] of [
  ["is open to others", /is open to other users/, false, (path: string) => chmod(path, 0o755)],
  ["is another user's", /belongs to another user/, !isRoot, (path: string) => lchown(path, ANOTHER, ANOTHER)],
  ["another user's link leads to", /belongs to another user/, !isRoot, link],
] as const) {
  test(`no program speaks with what listens in a folder that ${whose}`, { timeout, skip }, async (t) => {
    const { cwd, path, dialled } = await trap(t, own);
    for (const args of [
      ["tail"],
      ["tail", "--pid", "1"],
      ["tail", "--socket", join(path, "1.sock")],
      ["chat", "--join", "--once", "my secret"],
      ["token", "mint", "--scope", "*"],
    ]) {
      const { code, out, err } = await new Cli(t, args, { cwd, env: { TMPDIR: cwd } }).done;
      assert.deepEqual([code, out], [1, ""], args.join(" "));
      assert.match(err, says);
    }
    assert.deepEqual(dialled, []);
  });

  test(`run --listen puts no token into a folder that ${whose}`, { timeout, skip }, async (t) => {
    const { cwd, path } = await trap(t, own);
    const env = { TMPDIR: cwd, BYTEBOT_TOKEN: "" };
    const { code, err } = await new Cli(t, ["run", "--listen", "0"], { cwd, env }).done;
    assert.equal(code, 1);
    assert.match(err, says);
    assert.doesNotMatch(err, /listening on/);
    assert.deepEqual(await readdir(path), ["1.sock"]);
  });
}
