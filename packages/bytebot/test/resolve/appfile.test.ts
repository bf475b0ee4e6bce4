import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { readApp } from "../../src/resolve/index.ts";
import { folderOf } from "./folders.ts";

test("an app file is read, however each component is spelled, with the folder its references start from", async (t) => {
  const base = await folderOf(t, {
    "bytebot.app.json": {
      $schema: "./app.schema.json",
      ui: "http://site:8081",
      context: { ref: "./context", opts: { depth: 2 }, env: ["SITE_KEY"] },
      infer: [{ ref: "bb-infer", opts: {}, primary: true }, "./second"],
      attach: ["./ingest", { ref: "@acme/tools" }],
      policy: [{ tool: "ingest/*", scope: "*", decision: "ask" }],
      input: [{ mode: "steer" }, { scope: "u_7f3a", mode: "queue" }],
      listen: { port: 8080 },
      log: "memory",
    },
  });
  assert.deepEqual(await readApp(join(base, "bytebot.app.json")), {
    file: join(base, "bytebot.app.json"),
    base,
    ui: { ref: "http://site:8081" },
    context: { ref: "./context", opts: { depth: 2 }, env: ["SITE_KEY"] },
    infer: [{ ref: "bb-infer", opts: {}, primary: true }, { ref: "./second" }],
    attach: [{ ref: "./ingest" }, { ref: "@acme/tools" }],
    policy: [{ tool: "ingest/*", scope: "*", decision: "ask" }],
    input: [
      { scope: "*", mode: "steer" },
      { scope: "u_7f3a", mode: "queue" },
    ],
    listen: { host: "127.0.0.1", port: 8080, tokens: [] },
    log: "memory",
  });
});

test("an empty app is an app", async (t) => {
  const base = await folderOf(t, { "a.json": {} });
  assert.deepEqual(await readApp(join(base, "a.json")), {
    file: join(base, "a.json"),
    base,
    infer: [],
    attach: [],
    policy: [],
  });
});

const refusals: [title: string, content: unknown, message: string][] = [
  ["a key with a letter too few", { polcy: [] }, `{file}: unknown key "polcy": did you mean "policy"?`],
  [
    "a key that is near none",
    { components: [] },
    `{file}: unknown key "components": known are ui, context, infer, attach, policy, input, listen, log, retention, recovery`,
  ],
  [
    "a mode that is none",
    { input: [{ scope: "*", mode: "later" }] },
    `{file}: "input.0.mode": "queue", "steer", "replace" or "refuse" is needed`,
  ],
  [
    "a misspelt key of a component",
    { context: { rf: "./context" } },
    `{file}: "context": unknown key "rf": did you mean "ref"?`,
  ],
  [
    "a misspelt key of an infer",
    { infer: [{ ref: "x", Primary: true }] },
    `{file}: "infer.0": unknown key "Primary": did you mean "primary"?`,
  ],
  [
    "a component that is no reference",
    { ui: 3 },
    `{file}: "ui": a component reference is needed, as in "./context", or an object with a "ref"`,
  ],
  [
    "a component without a reference",
    { attach: ["./a", { opts: {} }] },
    `{file}: "attach.1.ref": a component reference is needed, as in "./context", or an object with a "ref"`,
  ],
  [
    "a reference of no known form",
    { attach: ["a/b/c"] },
    `{file}: "attach.0": "a/b/c" is no component reference: write a path ("./context"), an installed package ("bb-infer") or a URL ("http://site:8081")`,
  ],
  [
    "infers that are no list",
    { infer: {} },
    `{file}: "infer": a list is needed, as in [{ "ref": "bb-infer", "primary": true }]`,
  ],
  [
    "two primary infers",
    {
      infer: [
        { ref: "a", primary: true },
        { ref: "b", primary: true },
      ],
    },
    `{file}: "infer": two are "primary": leave it on the one that answers by default`,
  ],
  ["no object", [], "{file}: a JSON object is needed"],
  ["broken JSON", "{ ui: 1 }", `{file} is not JSON: unexpected "ui: 1 }" at line 1, column 3`],
];

for (const [title, content, message] of refusals) {
  test(`an app file with ${title} is refused with what, where and the fix`, async (t) => {
    const base = await folderOf(t, { "bytebot.app.json": content });
    const file = join(base, "bytebot.app.json");
    await assert.rejects(readApp(file), {
      name: "BytebotError",
      code: "invalid_params",
      message: message.replaceAll("{file}", file),
    });
  });
}

test("a port that is none is refused by its field", async (t) => {
  const base = await folderOf(t, { "a.json": { listen: { host: "::1", port: 70_000 } } });
  await assert.rejects(readApp(join(base, "a.json")), { message: /a\.json: "listen\.port": .*65535/ });
});

test("an app file that is not there is named", async (t) => {
  const base = await folderOf(t, {});
  const file = join(base, "bytebot.app.json");
  await assert.rejects(readApp(file), { code: "not_found", message: `there is no ${file}` });
});
