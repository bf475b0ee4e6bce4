import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { appOf } from "./apps.ts";
import { Cli, folder, leftOf } from "./cli.ts";

const timeout = 60_000;

/** A machine without a key, a server, Python, or weights in the cache. */
async function bare(t: TestContext) {
  const cwd = await folder(t);
  const keys = { ANTHROPIC_API_KEY: "", OPENAI_API_KEY: "", OLLAMA_HOST: "http://127.0.0.1:9" };
  return { cwd, env: { TMPDIR: cwd, XDG_CACHE_HOME: cwd, PATH: "", ...keys } };
}

test("with an app file the chat is its ui: one turn is answered by its components", { timeout }, async (t) => {
  const cwd = await folder(t, {
    ...appOf("tools", "infer"),
    "own.json": { ui: "./none", infer: ["./infer"], attach: ["./tools"] },
  });
  const cli = new Cli(t, ["chat", "own.json", "--once", "hello"], { cwd, env: { TMPDIR: cwd } });
  const { code, out, err } = await cli.done;
  assert.equal(code, 0, err);
  assert.match(out, /Done\. The tool answered: created note-1\.txt, 5 characters/);
  assert.match(err, /create-user-file\(.*\) → ok/);
  assert.deepEqual(leftOf(cwd), []);
});

test("a turn that fails is exit code 1 and one sentence", { timeout }, async (t) => {
  const broken = `import { createInterface } from "node:readline";
const send = (event) => console.log(JSON.stringify(event));
send({ event_type: "bb_sync", kind: "infer" });
createInterface({ input: process.stdin }).on("line", (line) => {
  const { event_type, id, loop_id } = JSON.parse(line);
  const error = { code: "unavailable", message: "the model is on holiday", retryable: false };
  if (event_type === "bb_infer_request") send({ event_type: "bb_infer_result", in_reply_to: id, loop_id, success: false, error });
});`;
  const manifest = { schema_version: 1, kind: "infer", entry: { type: "stdio", command: ["node", "broken.mjs"] } };
  const files = {
    "app.json": { infer: ["./broken"] },
    "broken/broken.mjs": broken,
    "broken/bytebot.component.json": manifest,
  };
  const cwd = await folder(t, files);
  const { code, out, err } = await new Cli(t, ["chat", "app.json", "--once", "hello"], { cwd, env: { TMPDIR: cwd } })
    .done;
  assert.deepEqual([code, out], [1, ""]);
  assert.match(err, /^chat failed: [^\n]*the model is on holiday\n$/);
  assert.deepEqual(leftOf(cwd), []);
});

test("a model named beside an app file that has its own is a wrong command line", { timeout }, async (t) => {
  const cwd = await folder(t, { ...appOf("infer"), "own.json": { infer: ["./infer"] } });
  const { code, err } = await new Cli(t, ["chat", "own.json", "--model", "x"], { cwd }).done;
  assert.equal(code, 2);
  assert.match(err, /own\.json says which infer answers, so name no other model here/);
});

test("where no model can be had, --once fails and names three ways to one", { timeout }, async (t) => {
  const { code, out, err } = await new Cli(t, ["chat", "--once", "hello"], await bare(t)).done;
  assert.deepEqual([code, out], [1, ""]);
  assert.match(
    err,
    /^bytebot: no model can be had: [^\n]*Python[^\n]*ANTHROPIC_API_KEY or OPENAI_API_KEY;[^\n]*Ollama[^\n]*--model\n$/,
  );
});

test("where no model can be had, a conversation opens on the demo, labelled as such", { timeout }, async (t) => {
  const { code, out, err } = await new Cli(t, ["chat"], { ...(await bare(t)), input: "hello\n" }).done;
  assert.equal(code, 0, err);
  assert.match(
    err,
    /no model can be had[^]*The scripted demo opens instead\.\n[^]*SCRIPTED DEMO: no model answers here/,
  );
  assert.match(out, /A script answers here, not a model/);
});

test(
  "a model that was named and cannot be had is refused by its name, and no demo takes its place",
  { timeout },
  async (t) => {
    const { cwd, env } = await bare(t);
    await writeFile(join(cwd, "cut.gguf"), "GGUF");
    for (const [model, says] of [
      ["none.gguf", /none\.gguf is no file/],
      ["cut.gguf", /cut\.gguf/],
    ] as const) {
      const { code, out, err } = await new Cli(t, ["chat", "--model", model, "--once", "hello"], { cwd, env }).done;
      assert.deepEqual([code, out], [1, ""]);
      assert.match(err, says);
      assert.doesNotMatch(err, /unexpected|demo|\n +at /);
    }
  },
);
