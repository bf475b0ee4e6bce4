import assert from "node:assert/strict";
import { suite, test } from "node:test";
import fc from "fast-check";
import { fold } from "../../src/check/fold.ts";
import { instanceOf } from "../../src/check/instance.ts";
import { turnAsSeen } from "../../src/check/turn.ts";
import { schemaCheck } from "../../src/hub/tools/schema.ts";
import { validate } from "../../src/wire/index.ts";
import { findInOrder, parseLines } from "../matcher.ts";
import { read } from "../spec/spec.ts";
import { checked, python } from "./checked.ts";

test("a satellite that keeps what was said, and says it in another scope, is found out (SCP-9)", async () => {
  const outcomes = await checked(python("context", "leaks"), { rules: ["SCP-9"] });
  assert.deepEqual(
    outcomes.map(({ state }) => state),
    ["failed"],
  );
});

test("the turn that a UI is shown is that of the spec's transcript, as valid events", () => {
  const [{ source }] = read("spec/transcripts/one-turn.jsonl") as [{ file: string; source: string }];
  const shown = parseLines(source).filter(
    ({ event_type }) => event_type === "user_event" || event_type === "infer_chunk",
  );
  const turn = turnAsSeen("u_7f3a");
  for (const event of turn) assert.doesNotThrow(() => validate(event), JSON.stringify(event));
  assert.equal(shown.length, 3);
  assert.ok(findInOrder(shown, turn));
});

const schemas: [name: string, schema: Record<string, unknown>, instance: unknown][] = [
  ["nothing is required", { type: "object", properties: { a: { type: "string" } } }, {}],
  [
    "a text of some length",
    { type: "object", properties: { a: { type: "string", minLength: 3 } }, required: ["a"] },
    { a: "aaa" },
  ],
  ["a choice", { type: "object", properties: { a: { enum: ["x", "y"] } }, required: ["a"] }, { a: "x" }],
  [
    "a number in a range",
    { type: "object", properties: { a: { type: "integer", exclusiveMinimum: 4, maximum: 9 } }, required: ["a"] },
    { a: 5 },
  ],
  [
    "a multiple",
    { type: "object", properties: { a: { type: "number", minimum: 4, multipleOf: 5 } }, required: ["a"] },
    { a: 5 },
  ],
  [
    "a list",
    { type: "object", properties: { a: { type: "array", items: { type: "boolean" }, minItems: 2 } }, required: ["a"] },
    { a: [false, false] },
  ],
  ["a default", { type: "object", properties: { a: { type: "string", default: "d" } }, required: ["a"] }, { a: "d" }],
  [
    "a reference",
    { type: "object", properties: { a: { $ref: "#/$defs/x" } }, required: ["a"], $defs: { x: { const: 7 } } },
    { a: 7 },
  ],
  [
    "either",
    { type: "object", properties: { a: { anyOf: [{ type: "null" }, { type: "string" }] } }, required: ["a"] },
    { a: null },
  ],
  [
    "all of",
    {
      allOf: [
        { properties: { a: { type: "string" } }, required: ["a"] },
        { properties: { b: { type: "number" } }, required: ["b"] },
      ],
    },
    { a: "a", b: 1 },
  ],
  [
    "a date",
    { type: "object", properties: { a: { type: "string", format: "date" } }, required: ["a"] },
    { a: "2026-01-01" },
  ],
];

suite("the least arguments a schema takes", () => {
  for (const [name, schema, instance] of schemas) {
    test(name, () => {
      assert.deepEqual(instanceOf(schema), instance);
      assert.equal(schemaCheck(schema, name)(instance), undefined);
    });
  }

  test("a schema that refers to itself without an end has an end here", () => {
    const schema = {
      $ref: "#/$defs/x",
      $defs: { x: { type: "object", properties: { x: { $ref: "#/$defs/x" } }, required: ["x"] } },
    };
    assert.equal(typeof instanceOf(schema), "object");
  });

  test("a small schema that asks for a vast value is refused", () => {
    let schema: object = { type: "string" };
    for (let level = 0; level < 10; level++) schema = { type: "array", minItems: 50, items: schema };
    assert.throws(
      () => instanceOf({ type: "object", required: ["a"], properties: { a: schema } }),
      /more than 10000 values/,
    );
  });

  test("whatever it is given, it answers or throws, and goes nowhere", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (schema) => {
        try {
          instanceOf(schema);
        } catch (error) {
          assert.ok(error instanceof Error);
        }
      }),
    );
    assert.equal(({} as { polluted?: unknown }).polluted, undefined);
  });
});

test("text cut into any pieces folds to itself", () => {
  fc.assert(
    fc.property(fc.array(fc.string()), (pieces) => {
      const chunk = (fields: object) => ({ event_type: "infer_chunk", in_reply_to: "i_1", index: 0, ...fields });
      const chunks = [
        chunk({ kind: "block_start", block_type: "text" }),
        ...pieces.map((delta) => chunk({ kind: "block_delta", block_type: "text", delta })),
        chunk({ kind: "block_stop" }),
      ];
      const { blocks, misfit } = fold(chunks);
      assert.equal(misfit, undefined);
      assert.equal(blocks.get(0)?.text, pieces.join(""));
    }),
  );
});

test("a component that never stops sending is cut off, and said so", { timeout: 60_000 }, async () => {
  const program = `const line = JSON.stringify({ event_type: "com.example/noise", scope: "u_1" }) + "\\n";
    process.stdout.write(JSON.stringify({ event_type: "bb_sync", kind: "telemetry" }) + "\\n");
    const more = () => { while (process.stdout.write(line.repeat(1000))); process.stdout.once("drain", more); };
    more();`;
  const component = { kind: "telemetry" as const, entry: { type: "stdio" as const, command: ["node", "-e", program] } };
  const outcomes = await checked(component, { rules: ["CON-6"], timeoutMs: 30_000 });
  assert.equal(outcomes[0]!.state, "failed");
  assert.match(outcomes[0]!.got!, /does not stop sending/);
});
