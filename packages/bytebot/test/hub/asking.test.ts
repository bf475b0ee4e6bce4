import assert from "node:assert/strict";
import { test } from "node:test";
import type { Event } from "../../src/wire/index.ts";
import { inferResult, message, register, toolChunks, toolResult, World, type Peer } from "./world.ts";

/** A schema that goes to the thread. */
const costly = { type: "string", pattern: "^(red|blue)$" };
/** One that keeps the thread until its time is up. */
const endless = { type: "string", pattern: "^(a+)+$" };
const broken = { type: "string", pattern: "(" };

const ask = (id: string, more: Record<string, unknown> = {}): Event => ({
  event_type: "bb_input_request",
  id,
  scope: "u",
  prompt: "Which one?",
  ...more,
});
const reply = (question: Event, value: unknown, id = `reply_${String(value)}`): Event => ({
  event_type: "input_reply",
  id,
  in_reply_to: question["id"],
  outcome: "accepted",
  value,
});

async function asked(world: World, schema: object): Promise<{ context: Peer; ui: Peer; question: Event }> {
  const context = await world.join("context");
  const ui = await world.join("ui");
  await context.send(ask("q1", { schema }));
  return { context, ui, question: await ui.gets("input_strict") };
}

test("answers come one after the other where each has to be checked: the first that fits wins (QUE-3, QUE-4, TOL-7)", async () => {
  const world = new World();
  const { context, ui, question } = await asked(world, costly);
  const other = await world.join("ui", { name: "other" });
  await ui.send(reply(question, "green"), reply(question, "red"));
  await other.send(reply(question, "blue"));
  assert.equal((await context.gets("bb_input_result"))["value"], "red");
  await ui.gets("bb_ack");
  assert.deepEqual(
    [(await ui.gets("bb_error"))["in_reply_to"], ui.last("bb_ack")["in_reply_to"]],
    ["reply_green", "reply_red"],
  );
  const late = await other.gets("bb_error");
  assert.deepEqual([late["code"], late["in_reply_to"]], ["not_found", "reply_blue"]);
  await world.end();
});

test("so many answers wait for the check of another and no more; who has left meanwhile is told nothing (QUE-3, TOL-7)", async () => {
  const world = new World({ limits: { schemaMs: 300 } });
  const { context, ui, question } = await asked(world, endless);
  const others: Peer[] = [];
  for (let n = 0; n < 5; n++) others.push(await world.join("ui", { name: `other${n}` }));
  await ui.send(reply(question, `${"a".repeat(60)}!`));
  await ui.link.close("left");
  for (const other of others) await other.send(...Array.from({ length: 21 }, (_, n) => reply(question, "?", `r${n}`)));
  const last = others.at(-1)!;
  assert.deepEqual(
    last.all("bb_error").map(({ code }) => code),
    Array(5).fill("overloaded"),
  );
  await last.send({ event_type: "interrupt", scope: "u" });
  assert.equal(context.last("bb_input_result")["outcome"], "cancelled");
  await last.gets("bb_error", 21);
  assert.equal(last.last("bb_error")["code"], "not_found", "whoever waited is told");
  await world.end();
});

test("a question of a broken schema is not asked, and may come again mended; who has left asks nothing (QUE-1, QTA-7, TOL-7)", async () => {
  const world = new World();
  const context = await world.join("context");
  const ui = await world.join("ui");
  await context.send(ask("q1", { schema: broken }));
  assert.deepEqual(
    [(await context.gets("bb_error"))["in_reply_to"], context.last("bb_error")["code"]],
    ["q1", "invalid_params"],
  );
  assert.equal(world.hub.counts()["conversations"], 0, "nothing is left of it");
  const gone = await world.join("context", { name: "gone" });
  await gone.send(ask("q2", { schema: broken }), ask("q3", { schema: costly }));
  await gone.link.close("left");
  await context.send(ask("q1", { schema: costly, expires_at: world.clock.now() + 1000 }));
  const question = await ui.gets("input_strict");
  assert.equal(question["expires_at"], world.clock.now() + 1000);
  assert.equal(ui.all("input_strict").length, 1);
  await world.pass(1000);
  assert.equal(context.last("bb_input_result")["outcome"], "expired");
  const back = await world.join("context", { name: "gone" });
  await back.send(ask("q3", { schema: costly }));
  await ui.send(reply(await ui.gets("input_strict", 2), "red"));
  assert.equal((await back.gets("bb_input_result"))["value"], "red", "back again, it may ask the same");
  await world.end();
});

test("a context names the scope that it asks in (QUE-1)", async () => {
  const world = new World();
  const context = await world.join("context");
  const { scope: _, ...nowhere } = ask("q1");
  await context.send(nowhere as Event);
  assert.match(String(context.last("bb_error")["message"]), /has no scope/);
  await world.end();
});

test("a call that asks two things has its time back when the last is answered (QUE-6, TOL-8)", async () => {
  const world = new World({ limits: { toolMs: 1000 } });
  const infer = await world.join("infer");
  const tools = await world.join("toolsource");
  const ui = await world.join("ui");
  await tools.send(register("read"));
  await ui.send(message("go"));
  const request = infer.last("bb_infer_request");
  await infer.send(...toolChunks(request, "read", {}), inferResult(request, "tool_use"));
  const { call_id } = tools.last("bb_tool_call_request");
  await world.pass(400);
  await tools.send(ask("q1", { call_id }), ask("q2", { call_id }));
  await world.pass(5000);
  const [one, two] = ui.all("input_strict") as [Event, Event];
  await ui.send(reply(one, "yes", "r1"));
  await world.pass(5000);
  assert.deepEqual(ui.all("tool_result"), [], "the second question still holds its clock");
  await ui.send(reply(two, "yes", "r2"));
  await world.pass(599);
  assert.deepEqual(ui.all("tool_result"), []);
  await world.pass(1);
  assert.equal(ui.last("tool_result")["status"], "timeout");
  await infer.send(inferResult(infer.last("bb_infer_request")));
  await world.end();
});

test("a toolsource that leaves while its schemas are tried has registered nothing (TOL-1, TOL-7)", async () => {
  const world = new World({ limits: { schemaMs: 300 } });
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  const tools = await world.join("toolsource");
  const define = (id: string, ...schemas: object[]): Event => ({
    event_type: "bb_tool_register",
    id,
    tools: schemas.map((input_schema, n) => ({ name: `t${n}`, input_schema })),
  });
  await tools.send(define("r1", { properties: { a: costly } }));
  await tools.link.close("left");
  const back = await world.join("toolsource");
  await back.send(define("r2", { properties: { a: costly } }, { properties: { a: broken } }));
  assert.match(String((await back.gets("bb_error"))["message"]), /one of the tools "t0", "t1" of toolsource/);
  await ui.send(message("go"));
  assert.equal("tools" in infer.last("bb_infer_request"), false);
  await infer.send(inferResult(infer.last("bb_infer_request")));
  await world.end();
});

test("what no schema may be at its place is refused when it is registered, or leaves the tool of use (TOL-1, TOL-7)", async () => {
  const world = new World();
  const tools = await world.join("toolsource");
  const owner = await world.join("ui", { owner: true }, { owner: true });
  const define = (id: string, input_schema: object): Event => ({
    event_type: "bb_tool_register",
    id,
    tools: [{ name: "t", input_schema }],
  });
  const refused: [string, object, string][] = [
    ["required that is no list", { required: 5 }, "invalid_params"],
    ["over 64 KiB", { description: "x".repeat(70_000) }, "too_large"],
  ];
  for (const [what, schema, code] of refused) {
    await tools.send(define(what.replaceAll(" ", "_"), schema));
    assert.deepEqual(
      [tools.last("bb_error")["in_reply_to"], tools.last("bb_error")["code"]],
      [what.replaceAll(" ", "_"), code],
    );
  }
  const odd: [string, object][] = [
    ["items that are a list", { properties: { a: { items: [{}] } } }],
    ["items that are nothing", { properties: { a: { items: null } } }],
    ["alternatives that are no list", { properties: { a: { anyOf: {} } } }],
    ["no properties at all", { properties: null }],
    ["properties that are a number", { properties: 5 }],
    ["patterns that are nothing", { patternProperties: null }],
    [
      "data that looks like a pattern",
      {
        properties: {
          a: {
            default: { pattern: "(" },
            examples: [{ pattern: "(" }],
            enum: [{ pattern: "(" }, 1],
            not: { const: 2, pattern: "^x" },
          },
        },
      },
    ],
  ];
  const answered = (): number => tools.all("bb_error").length + tools.all("bb_tool_register_result").length;
  for (const [what, schema] of odd) {
    const before = answered();
    await tools.send(define(what.replaceAll(" ", "_"), schema));
    for (let waits = 0; answered() === before; waits++) {
      assert.ok(waits < 10_000, what);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }
  const registrations = tools.all("bb_tool_register_result").length;
  await tools.send(define("loop", { properties: { a: { $ref: "#/properties/a" } } }));
  const registered = await tools.gets("bb_tool_register_result", registrations + 1);
  assert.equal(registered["in_reply_to"], "loop");
  await owner.send({ event_type: "bb_tool_call_request", id: "c", scope: "u", name: "t", input: { a: 1 } });
  const result = await owner.gets("bb_tool_call_result");
  assert.match(JSON.stringify(result["content"]), /could not be checked, so it did not run/);
  await tools.send(define("plain", { type: "object", properties: { a: false } }));
  await owner.send({ event_type: "bb_tool_call_request", id: "d", scope: "u", name: "t", input: { a: 1 } });
  assert.match(JSON.stringify((await owner.gets("bb_tool_call_result", 2))["content"]), /do not fit the tool's schema/);
  await owner.send({ event_type: "bb_tool_call_request", id: "e", scope: "u", name: "t", input: {} });
  await tools.send(toolResult(tools.last("bb_tool_call_request"), "x"));
  await world.end();
});

test("a context that asks in its render is not silent while the person thinks, and is when they have answered (TRN-3)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const context = await world.join("context");
  const ui = await world.join("ui");
  for (const answers of [true, false]) {
    await ui.send(message("go"));
    await context.send(ask(`q_${String(answers)}`));
    await world.pass(200_000);
    assert.equal(context.all("bb_cancel").length, 0, "the person may take longer than a render");
    await ui.send({ event_type: "input_reply", in_reply_to: ui.last("input_strict")["id"], outcome: "declined" });
    if (answers) {
      const { id } = context.last("bb_context_render_request");
      await context.send({ event_type: "bb_context_render_result", in_reply_to: id, success: true });
      await infer.send(inferResult(infer.last("bb_infer_request")));
    } else await world.pass(30_000);
  }
  assert.deepEqual(
    ui.all("infer_chunk").map(({ stop_reason }) => stop_reason),
    ["end_turn", "error"],
  );
  await world.end();
});
