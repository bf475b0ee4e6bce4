import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { ByteBot } from "bytebot";

/** The tools as an app has them: a process of their own, called through the Hub. */
async function tools(t: TestContext, opts: Record<string, unknown>) {
  const hub = new ByteBot({ base: join(import.meta.dirname, ".."), report: () => undefined });
  t.after(() => hub.stop());
  hub.attach({ ref: ".", opts });
  await hub.start();
  return async (name: string, input: unknown) => {
    const { status, content = [], error } = await hub.callTool("u_1", name, input);
    const text = content.map((block) => (block.type === "text" ? block["text"] : block.type)).join("");
    return { status, text: error ? error.message : text };
  };
}

async function folder(t: TestContext) {
  const made = await mkdtemp(join(tmpdir(), "bytebot-tools-"));
  t.after(() => rm(made, { recursive: true, force: true }));
  const root = join(made, "root");
  await mkdir(join(root, "notes"), { recursive: true });
  await writeFile(join(made, "secret.txt"), "CANARY");
  await writeFile(join(root, "notes", "todo.txt"), "buy milk – 牛乳 🥛\n");
  return { outside: made, root };
}

test("current_time tells the time of a zone, and says what a zone is called", { timeout: 20_000 }, async (t) => {
  const call = await tools(t, {});
  const { text } = await call("current_time", { timezone: "Asia/Tokyo" });
  assert.match(text, /^\w+,? \d+ \w+ \d{4} at \d\d:\d\d:\d\d .* \(Asia\/Tokyo\)$/);
  const told = Date.parse(
    text
      .replace(/^\w+,? /, "")
      .replace(/ \(.*$/, "")
      .replace(" at ", " "),
  );
  assert.ok(Math.abs(Date.now() - told) < 60_000, text);
  assert.equal((await call("current_time", {})).status, "ok");
  const wrong = await call("current_time", { timezone: "Mars/Base" });
  assert.deepEqual([wrong.status, /no time zone "Mars\/Base".*Europe\/Paris/.test(wrong.text)], ["error", true]);
});

test(
  "calculate answers like a person would, and says where a large number is not exact",
  { timeout: 20_000 },
  async (t) => {
    const call = await tools(t, {});
    assert.equal((await call("calculate", { expression: "0.1 + 0.2" })).text, "0.3");
    assert.equal((await call("calculate", { expression: "123 * 456" })).text, "56088");
    assert.equal((await call("calculate", { expression: "2^64" })).text, "about 18446744073709600000");
    const { status, text } = await call("calculate", { expression: "1/0" });
    assert.deepEqual([status, /divides by zero/.test(text)], ["error", true]);
  },
);

test("files below the root are listed and read", { timeout: 20_000 }, async (t) => {
  const { root } = await folder(t);
  await writeFile(join(root, "empty.txt"), "");
  const call = await tools(t, { root });
  assert.equal((await call("list_files", {})).text, "empty.txt (0 bytes)\nnotes/");
  assert.match((await call("list_files", { path: "notes" })).text, /^todo\.txt \(\d+ bytes\)$/);
  assert.equal((await call("read_file", { path: "notes/todo.txt" })).text, "buy milk – 牛乳 🥛\n");
  assert.equal((await call("read_file", { path: join(root, "notes", "..", "notes", "todo.txt") })).status, "ok");
  assert.match((await call("read_file", { path: "notes" })).text, /notes is no file: it is a folder/);
  assert.match((await call("read_file", { path: "none.txt" })).text, /there is no none\.txt/);
});

test("nothing outside of the root is shown, by no spelling and through no link", { timeout: 20_000 }, async (t) => {
  const { root, outside } = await folder(t);
  await symlink(join(outside, "secret.txt"), join(root, "link.txt"));
  await symlink(outside, join(root, "up"));
  await symlink("../../secret.txt", join(root, "notes", "up.txt"));
  await mkdir(join(outside, "root-next"));
  await writeFile(join(outside, "root-next", "secret.txt"), "CANARY");
  const call = await tools(t, { root });
  const paths = ["../secret.txt", join(outside, "secret.txt"), "link.txt", "up/secret.txt", "notes/up.txt"];
  for (const path of [...paths, "notes/../../secret.txt", "../root-next/secret.txt", "/proc/self/environ"]) {
    const { status, text } = await call("read_file", { path });
    assert.deepEqual(
      [path, status, /outside of the folder/.test(text), text.includes("CANARY")],
      [path, "error", true, false],
    );
  }
  for (const path of ["..", "/", "up", "notes/../.."])
    assert.equal((await call("list_files", { path })).status, "error", path);
});

test("what is hidden is shown only where the app said so", { timeout: 20_000 }, async (t) => {
  const { root } = await folder(t);
  await mkdir(join(root, ".ssh"));
  await writeFile(join(root, ".ssh", "id"), "KEY");
  await symlink(".ssh/id", join(root, "innocent.txt"));
  const call = await tools(t, { root });
  assert.doesNotMatch((await call("list_files", {})).text, /\.ssh/);
  for (const path of [".ssh/id", "innocent.txt"]) assert.match((await call("read_file", { path })).text, /is hidden/);
  const all = await tools(t, { root, hidden: true });
  assert.equal((await all("read_file", { path: ".ssh/id" })).text, "KEY");
});

test(
  "what is too large, binary or no file is refused, and a named pipe is not waited for",
  { timeout: 20_000 },
  async (t) => {
    const { root } = await folder(t);
    await writeFile(join(root, "large.txt"), "x".repeat(256 * 1024 + 1));
    await writeFile(join(root, "picture.png"), Buffer.from([0x89, 0x50, 0x4e, 0x47, 0]));
    await writeFile(join(root, "latin1.txt"), Buffer.from([0xe9, 0x20, 0xe8]));
    execFileSync("mkfifo", [join(root, "pipe")]);
    const call = await tools(t, { root });
    assert.match(
      (await call("read_file", { path: "large.txt" })).text,
      /has 262145 bytes, and at most 262144 are read/,
    );
    assert.match((await call("read_file", { path: "picture.png" })).text, /no text file/);
    assert.match((await call("read_file", { path: "latin1.txt" })).text, /no text file/);
    assert.match((await call("read_file", { path: "pipe" })).text, /it is a device or a pipe/);
  },
);

test("a folder of many files is cut, and says how many are left out", { timeout: 20_000 }, async (t) => {
  const { root } = await folder(t);
  const names = Array.from({ length: 510 }, (_, index) => `f${String(index).padStart(3, "0")}`);
  await Promise.all(names.map((name) => writeFile(join(root, "notes", name), "")));
  const call = await tools(t, { root });
  const lines = (await call("list_files", { path: "notes" })).text.split("\n");
  assert.deepEqual([lines.length, lines[0], lines.at(-1)], [501, "f000 (0 bytes)", "… and 11 more"]);
});

test("a root that is no folder is refused at the start, with its path", { timeout: 20_000 }, async (t) => {
  await assert.rejects(tools(t, { root: "/no/such/folder" }), {
    message: /"root" is \/no\/such\/folder, and there is no such folder/,
  });
});
