import assert from "node:assert/strict";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { resolve } from "../../src/resolve/index.ts";
import { folderOf, inproc, stdio } from "./folders.ts";

test("a folder's manifest is read, and its child runs in that folder", async (t) => {
  const manifest = { ...stdio("node", "main.js"), name: "ingest", env: ["INGEST_KEY"], later: "kept" };
  const base = await folderOf(t, { "ingest/bytebot.component.json": manifest, "ingest/main.js": "" });
  assert.deepEqual(await resolve("./ingest", { base }), {
    ref: "./ingest",
    folder: join(base, "ingest"),
    manifest,
    entry: { type: "stdio", command: ["node", "main.js"] },
  });
});

test("the manifest itself may be named", async (t) => {
  const base = await folderOf(t, { "c/bytebot.component.json": inproc("./dist/index.js"), "c/dist/index.js": "" });
  const { folder, entry } = await resolve("./c/bytebot.component.json", { base });
  assert.equal(folder, join(base, "c"));
  assert.deepEqual(entry, { type: "inproc", module: join(base, "c/dist/index.js") });
});

test("an installed package is found from the app's folder upwards, in the nearest node_modules", async (t) => {
  const base = await folderOf(t, {
    "node_modules/@acme/tools/bytebot.component.json": stdio("node"),
    "node_modules/far/bytebot.component.json": { ...stdio("node"), version: "far" },
    "app/node_modules/far/bytebot.component.json": { ...stdio("node"), version: "near" },
    "app/src/x": "",
  });
  const tools = await resolve("@acme/tools", { base: join(base, "app/src") });
  assert.equal(tools.folder, join(base, "node_modules/@acme/tools"));
  assert.equal((await resolve("far", { base: join(base, "app/src") })).manifest.version, "near");
});

test("a linked package resolves to the folder it links to, so that its own modules are inside it", async (t) => {
  const base = await folderOf(t, {
    "packages/linked/bytebot.component.json": inproc("./index.js"),
    "packages/linked/index.js": "",
    "node_modules/x": "",
  });
  await symlink(join(base, "packages/linked"), join(base, "node_modules/linked"), "junction");
  const { folder, entry } = await resolve("linked", { base });
  assert.equal(folder, join(base, "packages/linked"));
  assert.deepEqual(entry, { type: "inproc", module: join(base, "packages/linked/index.js") });
});

test("a program given by its path is made absolute, for the folder a child starts in differs between systems", async (t) => {
  const base = await folderOf(t, { "bytebot.component.json": stdio("./run", "x") });
  await writeFile(join(base, "run"), "#!/bin/sh\n", { mode: 0o755 });
  assert.deepEqual((await resolve(".", { base })).entry, { type: "stdio", command: [join(base, "run"), "x"] });
});

/** [what is wrong, the reference, the files, the code, the message with {base} for the folder] */
type Refusal = [title: string, ref: string, files: Record<string, unknown>, code: string, message: string];

const manifest = "bytebot.component.json";
const refusals: Refusal[] = [
  [
    "a URL",
    "http://site:8081",
    {},
    "invalid_params",
    "http://site:8081 is a URL: it is reached over HTTP, and has no files here",
  ],
  [
    "a GitHub slug",
    "acme/tools#3f9a",
    {},
    "unavailable",
    "acme/tools#3f9a cannot be fetched: GitHub references are not built yet; git clone https://github.com/acme/tools and attach its path",
  ],
  [
    "a path to nothing",
    "./missing",
    {},
    "not_found",
    `there is no {base}/missing (from "./missing"): check the path, which starts from the app's folder`,
  ],
  [
    "a path through a file",
    "./a/b",
    { a: "" },
    "not_found",
    `there is no {base}/a/b (from "./a/b"): check the path, which starts from the app's folder`,
  ],
  [
    "a folder without a manifest",
    "./empty",
    { "empty/x": "" },
    "not_found",
    "{base}/empty has no bytebot.component.json: it is no component yet; write one there, or name another folder",
  ],
  [
    "a module instead of a component",
    "./main.ts",
    { "main.ts": "" },
    "invalid_params",
    "{base}/main.ts is no component: attach the folder that holds its bytebot.component.json, or import it and attach its main",
  ],
  [
    "a package that is not installed",
    "bb-none",
    {},
    "not_found",
    `no package "bb-none" in node_modules of {base} and the folders above: npm install bb-none, or write "./bb-none" for a folder`,
  ],
  [
    "a folder written like a package",
    "ingest",
    { [`ingest/${manifest}`]: stdio("node") },
    "not_found",
    `no package "ingest" in node_modules of {base} and the folders above: write "./ingest" for the folder of that name`,
  ],
  [
    "a package that is no component",
    "lodash",
    { "node_modules/lodash/package.json": {} },
    "not_found",
    `the package "lodash" in {base}/node_modules/lodash has no bytebot.component.json: it is no ByteBot component`,
  ],
  [
    "broken JSON",
    ".",
    { [manifest]: '{\n  "kind": "ui",\n  "entry": oops\n}' },
    "invalid_params",
    `{base}/bytebot.component.json is not JSON: unexpected "oops" at line 3, column 12`,
  ],
  [
    "JSON that was cut short",
    ".",
    { [manifest]: '{ "kind": "ui",\n' },
    "invalid_params",
    "{base}/bytebot.component.json is not JSON: the file ends too early at line 2, column 1",
  ],
  [
    "a manifest without a version",
    ".",
    { [manifest]: [] },
    "invalid_params",
    `{base}/bytebot.component.json: "schema_version" is missing: write "schema_version": 1`,
  ],
  [
    "a manifest of a later version",
    ".",
    { [manifest]: { schema_version: 2, kinds: [] } },
    "unsupported_version",
    `{base}/bytebot.component.json: "schema_version" is 2, and this ByteBot reads version 1: update bytebot, or write the manifest for version 1`,
  ],
  [
    "an unknown kind",
    ".",
    { [manifest]: { ...stdio("node"), kind: "tools" } },
    "invalid_params",
    `{base}/bytebot.component.json: "kind": one of "ui", "context", "infer", "toolsource", "telemetry" is needed`,
  ],
  [
    "a manifest without an entry",
    ".",
    { [manifest]: { schema_version: 1, kind: "ui" } },
    "invalid_params",
    `{base}/bytebot.component.json: "entry": an entry is needed, with "type" one of "stdio", "inproc", "http"`,
  ],
  [
    "an unknown entry type",
    ".",
    { [manifest]: { schema_version: 1, kind: "ui", entry: { type: "socket" } } },
    "invalid_params",
    `{base}/bytebot.component.json: "entry.type": an entry is needed, with "type" one of "stdio", "inproc", "http"`,
  ],
  [
    "a relative URL in a file",
    ".",
    {
      [manifest]: {
        schema_version: 1,
        kind: "ui",
        entry: { type: "http", stream: "http://site:8081/stream", inbox: "inbox" },
      },
    },
    "invalid_params",
    `{base}/bytebot.component.json: "entry.inbox" is "inbox", and this manifest is a file: write the whole URL`,
  ],
  [
    "a command for a shell",
    ".",
    { [manifest]: { schema_version: 1, kind: "ui", entry: { type: "stdio", command: "node x.js" } } },
    "invalid_params",
    `{base}/bytebot.component.json: "entry.command": a list of words is needed, as in ["node", "dist/main.js"]: no shell splits it`,
  ],
  [
    "an empty command",
    ".",
    { [manifest]: stdio() },
    "invalid_params",
    `{base}/bytebot.component.json: "entry.command": the program is missing, as in ["node", "dist/main.js"]`,
  ],
  [
    "values in env",
    ".",
    { [manifest]: { ...stdio("node"), env: { KEY: "1" } } },
    "invalid_params",
    `{base}/bytebot.component.json: "env": a list of environment variable names is needed, as in ["SERVICE_KEY"]: names, not values`,
  ],
  [
    "a program that is not installed",
    ".",
    { [manifest]: stdio("no-such-program-7f3a") },
    "not_found",
    `{base}/bytebot.component.json: "entry.command" starts "no-such-program-7f3a", which is not on the PATH: install it, or write its path`,
  ],
  [
    "a program's path to nothing",
    ".",
    { [manifest]: stdio("./run.sh") },
    "not_found",
    `{base}/bytebot.component.json: "entry.command" starts "./run.sh", which is not there, or may not be executed`,
  ],
  [
    "a script that was not built",
    ".",
    { [manifest]: stdio("node", "dist/main.js") },
    "not_found",
    `{base}/bytebot.component.json: "entry.command" runs "dist/main.js", which is not in {base}: build the component first, or correct the path`,
  ],
  [
    "a module that was not built",
    ".",
    { [manifest]: inproc("./dist/index.js") },
    "not_found",
    `{base}/bytebot.component.json: "entry.module" names "./dist/index.js", and there is no such file: build the component first, or correct the path`,
  ],
  [
    "a module outside its folder",
    "./c",
    { [`c/${manifest}`]: inproc("../other.js"), "other.js": "" },
    "forbidden",
    `{base}/c/bytebot.component.json: "entry.module" is "../other.js", outside {base}/c: move the module into that folder`,
  ],
  [
    "a manifest that is something else",
    ".",
    { [manifest]: " ".repeat(1024 * 1024 + 1) },
    "too_large",
    "{base}/bytebot.component.json has 1048577 bytes; the limit is 1048576: is it the right file?",
  ],
];

for (const [title, ref, files, code, message] of refusals) {
  test(`${title} is refused with what, where and the fix`, async (t) => {
    const base = await folderOf(t, files);
    await assert.rejects(resolve(ref, { base }), {
      name: "BytebotError",
      code,
      message: message.replaceAll("{base}", base),
    });
  });
}

test("a link that leads a module out of its folder is refused", async (t) => {
  const base = await folderOf(t, { "c/bytebot.component.json": inproc("./index.js"), "secret.js": "" });
  await symlink(join(base, "secret.js"), join(base, "c/index.js"));
  await assert.rejects(resolve("./c", { base }), {
    code: "forbidden",
    message: /"\.\/index\.js", outside .*\/c: move the module/,
  });
});

test("a manifest that cannot be read says why", async (t) => {
  const base = await folderOf(t, {});
  await mkdir(join(base, "c"));
  await symlink("bytebot.component.json", join(base, "c/bytebot.component.json")); // a loop
  await assert.rejects(resolve("./c", { base }), {
    code: "unavailable",
    message: /^cannot read .*bytebot\.component\.json: ELOOP/,
  });
});
