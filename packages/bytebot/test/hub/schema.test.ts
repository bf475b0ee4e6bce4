import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Validator, type Schema } from "@cfworker/json-schema";
import { checkHere, toSchema } from "../../src/hub/tools/schema.ts";
import type { Event } from "../../src/wire/index.ts";
import { inferResult, message, toolChunks, toolResult, World, type Peer } from "./world.ts";

const define = (id: string, ...schemas: object[]): Event => ({
  event_type: "bb_tool_register",
  id,
  tools: schemas.map((input_schema, index) => ({ name: index === 0 ? "t" : `t${index}`, input_schema })),
});
const call = (id: string, input: unknown): Event => ({
  event_type: "bb_tool_call_request",
  scope: "u",
  name: "t",
  id,
  input,
});

async function withTools(world: World): Promise<{ tools: Peer; owner: Peer }> {
  const tools = await world.join("toolsource");
  const owner = await world.join("ui", { owner: true }, { owner: true });
  return { tools, owner };
}

/** Each level asks twice for the next: the work doubles. */
const doubling = (levels: number): object => {
  const defs = Array.from({ length: levels }, (_, index) => {
    const next = { $ref: `#/$defs/a${index + 1}` };
    return [`a${index}`, { allOf: [next, next] }];
  });
  return { $defs: Object.fromEntries([...defs, [`a${levels}`, {}]]), properties: { a: { $ref: "#/$defs/a0" } } };
};
const nestedIds = (levels: number): object =>
  levels === 0 ? {} : { $id: `https://x.example/${levels}`, properties: { a: nestedIds(levels - 1) } };

const HOSTILE: [string, object, unknown][] = [
  ["references that double", doubling(40), { a: 1 }],
  ["an exponential pattern", { properties: { a: { pattern: "^(a+)+$" } } }, { a: `${"a".repeat(60)}!` }],
  ["a pattern for names", { patternProperties: { "^(a+)+$": true } }, Object.fromEntries([[`${"a".repeat(60)}!`, 1]])],
  [
    "unique items",
    { properties: { a: { uniqueItems: true } } },
    { a: Array.from({ length: 9000 }, (_, at) => ({ at: { at: [at] } })) },
  ],
  ["a format", { properties: { a: { format: "url" } } }, { a: `http://${"a".repeat(50)}!` }],
];

for (const [name, schema, input] of HOSTILE) {
  test(`a schema cannot keep the Hub busy: ${name} (TOL-7)`, async () => {
    const world = new World({ limits: { schemaMs: 400 } });
    const { tools, owner } = await withTools(world);
    await tools.send(define("r1", schema));
    await tools.gets("bb_tool_register_result");
    await owner.send(call("q1", input), { event_type: "bb_ping", id: "p" });
    assert.equal(owner.all("bb_pong").length, 1, "the Hub serves others meanwhile");
    assert.equal(owner.all("bb_tool_call_result").length, 0);
    const result = await owner.gets("bb_tool_call_result");
    assert.equal(result["status"], "error");
    assert.match(JSON.stringify(result["content"]), /the schema of toolsource\/t: it takes more than 400 ms/);
    assert.equal(tools.all("bb_tool_call_request").length, 0);
    await tools.send(define("r2", { type: "object", properties: { a: { pattern: "^b$" } } }));
    await tools.gets("bb_tool_register_result", 2);
    await owner.send(call("q2", { a: "b" }));
    await tools.send(toolResult(await tools.gets("bb_tool_call_request"), "done"));
    assert.equal(owner.last("bb_tool_call_result")["status"], "ok", "the next one has a thread of its own");
    await world.end();
  });
}

test("a schema that takes for ever to read is refused, and the tools of before stay (TOL-1, TOL-7)", async () => {
  const world = new World({ limits: { schemaMs: 400 } });
  const { tools, owner } = await withTools(world);
  await tools.send(define("r1", { type: "object" }));
  await tools.send(define("r2", { type: "object" }, nestedIds(20)));
  const error = await tools.gets("bb_error");
  assert.deepEqual([error["in_reply_to"], error["code"]], ["r2", "invalid_params"]);
  assert.match(String(error["message"]), /one of the tools|tool "t1"/);
  await owner.send(call("q1", {}));
  assert.equal(tools.all("bb_tool_call_request").length, 1);
  await tools.send(toolResult(tools.last("bb_tool_call_request"), "done"));
  await world.end();
});

test("patterns and references count, as many as there are, and what is broken is refused when it is registered (TOL-1, TOL-7)", async () => {
  const world = new World();
  const { tools, owner } = await withTools(world);
  const properties = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`p${at}`, { $ref: "#/$defs/name" }]));
  const schema = {
    $defs: { name: { type: "string", pattern: "^[a-z]+$" } },
    properties: { ...properties, pattern: { type: "number" }, mode: { const: { pattern: "(" } } },
    patternProperties: { "^x-": { type: "string" } },
    additionalProperties: false,
  };
  await tools.send(define("r1", schema));
  await tools.gets("bb_tool_register_result");
  const cases: [unknown, "ok" | "error"][] = [
    [{ p1: "abc", "x-a": "1", mode: { pattern: "(" }, pattern: 1 }, "ok"],
    [{ p99: "ABC" }, "error"],
    [{ "x-a": 1 }, "error"],
    [{ y: 1 }, "error"],
    [{ pattern: "no number" }, "error"],
  ];
  for (const [index, [input, status]] of cases.entries()) {
    await owner.send(call(`q${index}`, input));
    if (status === "ok") await tools.send(toolResult(await tools.gets("bb_tool_call_request"), "done"));
    const result = await owner.gets("bb_tool_call_result", index + 1);
    assert.equal(result["status"], status, JSON.stringify(input));
  }
  for (const [id, broken] of [
    ["b1", { properties: { a: { pattern: "(" } } }],
    ["b2", { $ref: "#/$defs/none" }],
    ["b3", { $ref: "#" }],
  ] as const) {
    await tools.send(define(id, broken));
    const seen = ["b1", "b2", "b3"].indexOf(id) + 1;
    const error = await tools.gets("bb_error", seen);
    assert.deepEqual([error["in_reply_to"], error["code"]], [id, "invalid_params"]);
  }
  await world.end();
});

test("registrations count in their order, whichever is checked longer (TOL-1)", async () => {
  const world = new World();
  const { tools, owner } = await withTools(world);
  await tools.send(define("r1", { properties: { a: { pattern: "^a$" } } }), define("r2", { type: "object" }));
  const second = await tools.gets("bb_tool_register_result", 2);
  assert.equal(second["in_reply_to"], "r2");
  await owner.send(call("q1", { a: "no" }));
  await tools.send(toolResult(tools.last("bb_tool_call_request"), "the second's schema took it"));
  await world.end();
});

test("an interrupt ends a call whose arguments are being checked: it never runs (INT-1, TOL-7)", async () => {
  const world = new World({ limits: { schemaMs: 400 } });
  const { tools } = await withTools(world);
  const infer = await world.join("infer");
  const ui = await world.join("ui", { name: "person" });
  const [, schema, input] = HOSTILE[1]!;
  await tools.send(define("r1", schema, { type: "object" }));
  await tools.gets("bb_tool_register_result");
  await ui.send(message("go"));
  const request = infer.last("bb_infer_request");
  await infer.send(...toolChunks(request, "t", input), inferResult(request, "tool_use"));
  await ui.send({ event_type: "interrupt", scope: "u" });
  assert.equal(ui.last("tool_result")["status"], "cancelled");
  assert.equal(ui.last("infer_chunk")["stop_reason"], "interrupted");
  await ui.send(message("again"));
  const next = infer.last("bb_infer_request");
  await infer.send(...toolChunks(next, "t", { a: "aaa" }), inferResult(next, "tool_use"));
  await tools.send(toolResult(await tools.gets("bb_tool_call_request"), "done"));
  await infer.send(inferResult(infer.last("bb_infer_request")));
  assert.equal(tools.all("bb_tool_call_request").length, 1);
  await world.end();
});

test("the first valid answer wins also where answers take long to check; the later ones wait, and are told (QUE-3, QUE-4)", async () => {
  const world = new World();
  const context = await world.join("context");
  const [one, two] = [await world.join("ui", { name: "one" }), await world.join("ui", { name: "two" })];
  const schema = { type: "string", pattern: "^[a-z]+$" };
  await context.send({ event_type: "bb_input_request", id: "k", scope: "u", prompt: "?", schema });
  const { id } = await one.gets("input_strict");
  const reply = (from: Peer, value: string, own: string): void =>
    from.link.send({ event_type: "input_reply", id: own, in_reply_to: id, outcome: "accepted", value });
  reply(one, "NOT SO", "v1");
  reply(two, "good", "v2");
  reply(two, "late", "v3");
  await two.gets("bb_error");
  assert.deepEqual(
    [one, two].flatMap((ui) => ui.all("bb_error").map(({ in_reply_to, code }) => [in_reply_to, code])),
    [
      ["v1", "invalid_params"],
      ["v3", "not_found"],
    ],
  );
  assert.equal(two.last("bb_ack")["in_reply_to"], "v2");
  assert.equal(context.last("bb_input_result")["value"], "good");
  await world.end();
});

test("a question that ends while an answer is being checked has ended (QUE-5, QUE-6)", async () => {
  const world = new World({ limits: { schemaMs: 400 } });
  const context = await world.join("context");
  const ui = await world.join("ui");
  const schema = { pattern: "^(a+)+$" };
  await context.send({ event_type: "bb_input_request", id: "k", scope: "u", prompt: "?", schema });
  const { id } = await ui.gets("input_strict");
  await ui.send({
    event_type: "input_reply",
    id: "v",
    in_reply_to: id,
    outcome: "accepted",
    value: `${"a".repeat(60)}!`,
  });
  await world.pass(300_000);
  assert.equal(ui.last("input_resolved")["outcome"], "expired");
  assert.equal((await ui.gets("bb_error"))["code"], "not_found");
  assert.equal(context.all("bb_input_result").length, 1);
  await world.end();
});

test("a question whose schema is broken is refused, and its asker may ask again under the same id (QUE-1, TOL-7)", async () => {
  const world = new World();
  const context = await world.join("context");
  const ui = await world.join("ui");
  const ask = { event_type: "bb_input_request", id: "k", scope: "u", prompt: "?" };
  await context.send({ ...ask, schema: { pattern: "(" } });
  assert.equal((await context.gets("bb_error"))["code"], "invalid_params");
  assert.equal(world.hub.counts()["conversations"], 0, "nothing came of it (QTA-7)");
  await context.send({ ...ask, schema: { pattern: "a" } });
  await ui.gets("input_strict");
  await world.pass(300_000);
  await world.end();
});

test("a question that is refused as too many are being checked may be asked again under the same id (QUE-1)", async () => {
  const world = new World();
  const context = await world.join("context");
  await world.join("ui");
  const ask = (n: number): Event => ({
    ...{ event_type: "bb_input_request", id: `k${n}`, scope: `u/c_${n}`, prompt: "?", schema: { pattern: "(" } },
  });
  for (let n = 0; n <= 100; n++) context.link.send(ask(n));
  await world.settle();
  const early = context.all("bb_error").find(({ code }) => code === "overloaded");
  assert.equal(early?.["in_reply_to"], "k100");
  await context.gets("bb_error", 101);
  await context.send(ask(100));
  assert.equal((await context.gets("bb_error", 102))["code"], "invalid_params", "it was checked, not taken as known");
  assert.equal(world.hub.counts()["conversations"], 0);
  await world.end();
});

test("whoever has much to check waits behind nobody else's: in a circle (TOL-7)", async () => {
  const world = new World({ limits: { schemaMs: 400 } });
  const { tools, owner } = await withTools(world);
  const [, schema, input] = HOSTILE[1]!;
  await tools.send(define("r1", schema));
  await tools.gets("bb_tool_register_result");
  for (let at = 0; at < 6; at++) owner.link.send({ ...call(`q${at}`, input), scope: "busy" });
  await owner.send({ ...call("good", { a: "aaa" }), scope: "other" });
  await tools.gets("bb_tool_call_request");
  assert.ok(owner.all("bb_tool_call_result").length <= 2, "at most the one that was running, and one more");
  await tools.send(toolResult(tools.last("bb_tool_call_request"), "done"));
  await owner.gets("bb_tool_call_result", 7);
  await world.end();
});

test("what is checked in the Hub's own thread has the outcome that the validator has (TOL-7)", () => {
  const leaf = fc.oneof(
    fc.constantFrom(
      { type: "string" },
      { type: "integer", minimum: 1 },
      { enum: ["a", 1] },
      { const: null },
      {},
      true,
      false,
    ),
    fc.constantFrom({ type: "string", minLength: 2 }, { format: "date" }, { type: ["number", "null"] }),
  );
  const { schema } = fc.letrec<{ schema: unknown }>((tie) => ({
    schema: fc.oneof(
      { depthSize: "small" },
      leaf,
      fc.record(
        {
          type: fc.constant("object"),
          properties: fc.dictionary(fc.constantFrom("a", "b"), tie("schema")),
          required: fc.subarray(["a", "b"]),
          additionalProperties: tie("schema"),
        },
        { requiredKeys: [] },
      ),
      fc.record({ items: tie("schema") }),
      fc.record({ anyOf: fc.array(tie("schema"), { minLength: 1, maxLength: 3 }) }),
      fc.record({ not: tie("schema") }),
    ),
  }));
  const value = fc.jsonValue({ maxDepth: 3 });
  fc.assert(
    fc.property(fc.record({ properties: fc.dictionary(fc.constantFrom("a", "b"), schema) }), value, (object, input) => {
      const outcome = checkHere(toSchema(object, "it"), input);
      assert.ok(outcome, "it is plain");
      assert.equal(outcome.result === "fits", new Validator(object as Schema, "2020-12").validate(input).valid);
    }),
  );
});

test("a plain schema is applied at once, unless it or the arguments are large (TOL-7)", () => {
  const items = (schema: object): Record<string, unknown> => ({
    type: "object",
    properties: { a: { type: "array", items: schema } },
  });
  const wide = { anyOf: Array.from({ length: 200 }, (_, at) => ({ const: at })) };
  assert.ok(checkHere(toSchema(items({ type: "number" }), "it"), { a: Array.from({ length: 1000 }, () => 1) }));
  assert.ok(checkHere(toSchema(items(wide), "it"), { a: [1, 2, 3] }));
  assert.equal(checkHere(toSchema(items(wide), "it"), { a: Array.from({ length: 1000 }, () => -1) }), undefined);
  assert.equal(checkHere(toSchema(items(wide), "it"), { a: ["x".repeat(1_000_000)] }), undefined);
  for (const costly of [{ uniqueItems: true }, { pattern: "a" }, { $ref: "#" }, { format: "uri" }, { $id: "x" }])
    assert.equal(toSchema(items(costly), "it").plain, undefined, JSON.stringify(costly));
});
