import assert from "node:assert/strict";
import { basename } from "node:path";
import { suite, test } from "node:test";
import { BytebotError, decode, encode, schemas, validate, wide, type Event } from "../../src/wire/index.ts";
import { examples, read } from "./spec.ts";

test("every example of the spec is a valid event on a line of its own (ENV-1, ENV-7)", () => {
  for (const line of examples) assert.doesNotThrow(() => validate(event(line)), line);
});

test("every event type has an example", () => {
  const shown = new Set(examples.map((line) => event(line).event_type));
  assert.deepEqual(
    Object.keys(schemas).filter((type) => !shown.has(type)),
    [],
  );
});

test("every kind of chunk has an example", () => {
  const shown = new Set(examples.map((line) => event(line)["kind"]));
  for (const kind of ["block_start", "block_delta", "block_stop", "loop_done"]) assert.ok(shown.has(kind), kind);
});

suite("refused with the code that names the file", () => {
  for (const { file, source } of read("spec/transcripts/rejected/*.jsonl")) {
    const lines = source.split("\n").filter((line) => line !== "");
    assert.ok(lines.length > 0, `${file} holds no line`);
    for (const line of lines) {
      test(`${basename(file, ".jsonl")}: ${line.slice(0, 100)}`, () => {
        assert.throws(
          () => validate(event(line)),
          (error) => error instanceof BytebotError && error.code === basename(file, ".jsonl"),
        );
      });
    }
  }
});

test("the transcripts are lines that decode, and are written back as they were (FRM-3)", () => {
  const transcripts = read("spec/transcripts/*.jsonl");
  assert.ok(transcripts.length > 0);
  for (const { file, source } of transcripts) {
    const written = source
      .trimEnd()
      .split("\n")
      .map((line) => encode(event(line)));
    assert.equal(written.join(""), source, file);
  }
});

function event(line: string): Event {
  return decode(Buffer.from(line), wide);
}
