import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { Validator, type Schema } from "@cfworker/json-schema";
import { runNode } from "../run.ts";

const script = join(import.meta.dirname, "../generate.ts");

async function generated(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "bytebot-generate-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const { ok, output } = await runNode([script, "--to", folder], 60_000);
  assert.ok(ok, output);
  return folder;
}

test("--check names each file that is not up to date and the command that fixes it, and writes nothing", async (t) => {
  const folder = await generated(t);
  assert.deepEqual(await runNode([script, "--check", "--to", folder], 60_000).then(({ ok, output }) => [ok, output]), [
    true,
    "",
  ]);

  await writeFile(join(folder, "spec/wire.schema.json"), "{}\n");
  await rm(join(folder, "packages/bytebot/app.schema.json"));
  const stale = await runNode([script, "--check", "--to", folder], 60_000);
  assert.equal(stale.ok, false);
  assert.deepEqual(stale.output.trimEnd().split("\n"), [
    "packages/bytebot/app.schema.json is not up to date: run npm run generate",
    "spec/wire.schema.json is not up to date: run npm run generate",
  ]);
  assert.equal(await readFile(join(folder, "spec/wire.schema.json"), "utf8"), "{}\n");
});

test("the wire's schema takes events of the wire, with fields of later versions, and refuses what is none", async (t) => {
  const schema = await schemaOf(join(await generated(t), "spec/wire.schema.json"));
  const takes = (event: unknown) => schema.validate(event).valid;
  assert.ok(takes({ event_type: "bb_sync", kind: "ui", later: 1 }));
  assert.ok(takes({ event_type: "infer_chunk", kind: "block_delta", index: 0, block_type: "text", delta: "Done. " }));
  const result = { type: "tool_result", tool_use_id: "c_3", content: [{ type: "text", text: "ok" }] };
  const request = {
    event_type: "bb_infer_request",
    id: "r",
    loop_id: "l",
    scope: "u",
    stream: true,
    round: 0,
    attempt: 0,
  };
  assert.ok(takes({ ...request, messages: [{ role: "user", content: [result] }] }));
  assert.ok(
    !takes({ ...request, messages: [{ role: "user", content: [{ ...result, content: [{ type: "text" }] }] }] }),
  );
  assert.ok(!takes({ event_type: "bb_sync", kind: "browser" }));
  assert.ok(!takes({ event_type: "bb_unknown" }));
});

test("the schemas of the two files take what the documentation shows and refuse a misspelt key of an app", async (t) => {
  const folder = await generated(t);
  const manifest = await schemaOf(join(folder, "packages/bytebot/manifest.schema.json"));
  const http = { type: "http", stream: "http://site:8081/stream", inbox: "http://site:8081/inbox" };
  assert.ok(manifest.validate({ schema_version: 1, kind: "ui", language: "python", entry: http }).valid);
  assert.ok(!manifest.validate({ schema_version: 2, kind: "ui", entry: http }).valid);

  const app = await schemaOf(join(folder, "packages/bytebot/app.schema.json"));
  assert.ok(
    app.validate({ context: "./context", infer: [{ ref: "bb-infer", primary: true }], listen: { port: 0 } }).valid,
  );
  assert.ok(!app.validate({ polcy: [] }).valid);
});

async function schemaOf(file: string): Promise<Validator> {
  return new Validator(JSON.parse(await readFile(file, "utf8")) as Schema, "2020-12", false);
}
