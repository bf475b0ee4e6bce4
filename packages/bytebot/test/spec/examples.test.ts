import assert from "node:assert/strict";
import { basename } from "node:path";
import { suite, test } from "node:test";
import {
  BytebotError,
  decode,
  encode,
  mayReceive,
  maySend,
  schemas,
  validate,
  wide,
  type Event,
  type Kind,
} from "../../src/wire/index.ts";
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

/** These need no more than the line itself; `test/transcripts` says all of them to a Hub. */
const BY_ITSELF = ["parse_error", "invalid_event", "unknown_type"];

suite("refused with the code that names the file", () => {
  for (const code of BY_ITSELF) {
    const [rejected] = read(`spec/transcripts/rejected/${code}.jsonl`);
    const lines = rejected!.source.split("\n").filter((line) => line !== "");
    assert.ok(lines.length > 0, `${code} holds no line`);
    for (const line of lines) {
      test(`${code}: ${line.slice(0, 100)}`, () => {
        assert.throws(
          () => validate(event(line)),
          (error) => error instanceof BytebotError && error.code === code,
        );
      });
    }
  }
});

test("every other line that a Hub refuses is an event of its type", () => {
  const files = read("spec/transcripts/rejected/*.jsonl");
  for (const { file, source } of files.filter(({ file }) => !BY_ITSELF.includes(basename(file, ".jsonl")))) {
    for (const line of source.split("\n").filter((line) => line !== "" && basename(file) !== "too_large.jsonl"))
      assert.doesNotThrow(() => validate(event(line)), `${file}: ${line}`);
  }
});

test("the transcripts are lines that decode, and are written back as they were (FRM-3)", () => {
  const transcripts = read("spec/transcripts/*.jsonl");
  assert.ok(transcripts.length > 0);
  for (const { file, source } of transcripts) {
    const written = linesOf(source).map((line) => encode(event(line)));
    assert.equal(written.join(""), source, file);
  }
});

test("each line of a transcript may be sent by whose it is, and to whom it goes (KND-1, KND-3)", () => {
  for (const { file, source } of read("spec/transcripts/*.jsonl")) {
    if (basename(file) === "one-turn.jsonl") continue;
    const granted = new Map<unknown, Event>();
    for (const line of linesOf(source).map(event)) {
      const { event_type: type, from, to, kind, controller } = line;
      if (type === "bb_sync") continue;
      if (type === "bb_sync_ack" && line["observed"] !== true) granted.set(to, line);
      const { kind: ownKind, controller: own } = granted.get(to ?? from)!;
      const passes =
        to === undefined
          ? maySend(ownKind as Kind, own === true, type) === "allowed"
          : mayReceive(ownKind as Kind, own === true, type);
      assert.ok(passes, `${file}: ${JSON.stringify({ type, from, to, kind, controller })}`);
    }
  }
});

function linesOf(source: string): string[] {
  return source.trimEnd().split("\n");
}

function event(line: string): Event {
  return decode(Buffer.from(line), wide);
}
