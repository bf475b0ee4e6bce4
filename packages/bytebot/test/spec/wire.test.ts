import assert from "node:assert/strict";
import { test } from "node:test";
import { withoutContent } from "../../src/hub/readers/present.ts";
import {
  Block,
  BytebotError,
  decode,
  errorCodes,
  kinds,
  maySend,
  mayReceive,
  schemas,
  validate,
  wide,
} from "../../src/wire/index.ts";
import { names, tableUnder, text } from "./spec.ts";

test("an id is 1 to 128 visible ASCII characters, as an id, a call_id or a loop_id (ENV-2)", () => {
  const passes = (id: string): boolean => {
    const events = [
      { event_type: "bb_ping", id },
      { event_type: "bb_tool_progress", call_id: id },
      { event_type: "scope_state", scope: "u", state: "idle", loop_id: id },
    ];
    const outcomes = events.map((event) => {
      try {
        return validate(decode(Buffer.from(JSON.stringify(event)), wide));
      } catch (error) {
        return (error as BytebotError).code;
      }
    });
    assert.equal(new Set(outcomes).size, 1, "the same for each");
    return outcomes[0] === undefined;
  };
  for (const id of ["a", "!~", "x".repeat(128), '{"a":1}']) assert.ok(passes(id), id);
  for (const id of ["", " ", "a b", "ä", "a\n", "a\u007f", "x".repeat(129)]) assert.ok(!passes(id), JSON.stringify(id));
});

test("an error code that is not known is internal, and keeps whether it may be tried again (ENV-9)", () => {
  const error = BytebotError.fromWire({ code: "mild_weather", message: "new", retryable: true });
  assert.deepEqual(error.toWire(), { code: "internal", message: "new", retryable: true });
});

test("the error codes are those of the spec's table (ERR-1)", () => {
  const codes = tableUnder("Errors").map(([code]) => names(code!)[0]);
  assert.deepEqual(codes, [...errorCodes]);
});

test("the table of kinds is the spec's, cell by cell, for sending and receiving (KND-1, KND-2, KND-3)", () => {
  const rows = new Map(tableUnder("Kinds").map(([kind, sends, receives]) => [kind!, { sends, receives }]));
  const of = (column: "sends" | "receives", kind: string): string[] => names(rows.get(kind)?.[column] ?? "");
  const anybody = [...rows.keys()].flatMap((kind) => of("sends", kind));
  for (const kind of kinds) {
    for (const controller of [false, true]) {
      const row = (column: "sends" | "receives"): string[] =>
        ["every", `\`${kind}\``, ...(controller ? ["controller or owner"] : [])].flatMap((name) => of(column, name));
      for (const type of Object.keys(schemas)) {
        const refusal = anybody.includes(type) || type === "bb_sync" ? "forbidden" : "not_authority";
        assert.equal(
          maySend(kind, controller, type),
          row("sends").includes(type) ? "allowed" : refusal,
          `${kind} ${type}`,
        );
        const gets = kind === "telemetry" || row("receives").includes(type);
        assert.equal(mayReceive(kind, controller, type), gets, `to ${kind}: ${type}`);
      }
      assert.equal(maySend(kind, controller, "com.example/typing"), "allowed");
      assert.equal(mayReceive(kind, controller, "com.example/typing"), kind === "ui" || kind === "telemetry");
    }
  }
});

test("telemetry's copies hold exactly the fields that the spec names (KND-4)", () => {
  const [rule = ""] = /^\*\*KND-4\*\*.*?\n\n/ms.exec(text) ?? [];
  const fields = names(/MUST hold only(.*), and of an `error`/s.exec(rule)?.[1] ?? "");
  assert.ok(fields.includes("event_type") && fields.includes("seq") && !fields.includes("text"), fields.join());
  const inSchemas = Object.values(schemas).flatMap((schema) => ("shape" in schema ? Object.keys(schema.shape) : []));
  const event = {
    event_type: "x",
    ...Object.fromEntries([...fields, ...inSchemas, "secret"].map((name) => [name, 1])),
  };
  const error = { code: "timeout", message: "secret", retryable: true, data: "secret" };
  const { error: kept, ...bare } = withoutContent({ ...event, event_type: "x", error });
  assert.deepEqual(Object.keys(bare).sort(), fields.sort());
  assert.deepEqual(kept, { code: "timeout", retryable: true });
});

test("a blob block names its bytes by their hash (FRM-9)", () => {
  const block = { type: "blob", ref: `sha256-${"0".repeat(64)}`, mime_type: "image/png", size: 300_000 };
  assert.ok(Block.safeParse(block).success);
  for (const ref of ["0".repeat(64), `sha256-${"0".repeat(63)}`, `sha256-${"A".repeat(64)}`, "sha256-../x"]) {
    assert.ok(!Block.safeParse({ ...block, ref }).success, ref);
  }
});
