import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import * as bb from "../../src/sdk/index.ts";
import { validate } from "../../src/wire/index.ts";
import { synced, type Synced } from "./peer.ts";

const none = (): void => {};

async function serving(...tools: bb.Tool[]): Promise<Synced & { registered: bb.Event }> {
  const running = await synced({ kind: "toolsource" }, (satellite) => tools.forEach((tool) => satellite.tool(tool)));
  const registered = await running.peer.next("bb_tool_register");
  validate(registered);
  running.peer.send({ event_type: "bb_tool_register_result", in_reply_to: String(registered["id"]), success: true });
  return { ...running, registered };
}

async function called({ peer }: Synced, name: string, input: unknown, call_id = "c1"): Promise<bb.Event> {
  peer.send({ event_type: "bb_tool_call_request", call_id, name, input, scope: "u_1", loop_id: "l_1" });
  const result = await peer.next("bb_tool_call_result");
  validate(result);
  return result;
}

const text = (result: bb.Event) => (result["content"] as { text: string }[]).map((block) => block.text).join("");
const returns = (name: string, output: bb.ToolOutput) =>
  bb.defineTool({ name, description: "", input: z.object({}), run: () => output });

test("start registers all tools at once, described in JSON Schema", async () => {
  const add = bb.defineTool({
    name: "add",
    description: "Adds two numbers.",
    input: z.object({ a: z.number().describe("the first"), b: z.number().default(1) }),
    annotations: { read_only: true },
    timeoutMs: 500,
    run: ({ a, b }) => String(a + b),
  });
  const raw = bb.defineTool({ name: "raw", inputSchema: { type: "object", properties: {} }, run: (input) => input });
  await using running = await serving(add, raw);
  assert.deepEqual(running.registered["tools"], [
    {
      name: "add",
      description: "Adds two numbers.",
      input_schema: {
        type: "object",
        properties: { a: { description: "the first", type: "number" }, b: { default: 1, type: "number" } },
        required: ["a"],
      },
      annotations: { read_only: true },
      timeout_ms: 500,
    },
    { name: "raw", input_schema: { type: "object", properties: {} } },
  ]);
  assert.equal(text(await called(running, "add", { a: 2 })), "3");
  assert.equal(text(await called(running, "raw", { any: [1] })), '{"any":[1]}');
});

test("what a tool returns becomes content", async () => {
  const image = { type: "image" as const, mime_type: "image/png", data: "AA==" };
  const outputs: [string, bb.ToolOutput, object[]][] = [
    ["string", "hi", [{ type: "text", text: "hi" }]],
    ["blocks", [image], [image]],
    ["object", { n: 1 }, [{ type: "text", text: '{"n":1}' }]],
    ["rows", [{ type: "invoice", n: 1 }], [{ type: "text", text: '[{"type":"invoice","n":1}]' }]],
    ["none_found", [], [{ type: "text", text: "[]" }]],
    ["null", null, [{ type: "text", text: "null" }]],
    ["nothing", undefined, []],
  ];
  await using running = await serving(...outputs.map(([name, output]) => returns(name, output)));
  for (const [name, , content] of outputs) {
    const result = await called(running, name, {});
    assert.deepEqual(result, {
      event_type: "bb_tool_call_result",
      call_id: "c1",
      success: true,
      status: "ok",
      content,
    });
  }
});

test("arguments that do not fit the schema are explained to the model and never run", async () => {
  let runs = 0;
  const input = z.object({ path: z.string(), depth: z.int().max(3).optional() });
  await using running = await serving(bb.defineTool({ name: "list", input, run: () => void runs++ }));
  const result = await called(running, "list", { depth: 9 });
  assert.deepEqual(
    [result["success"], result["status"], (result["error"] as bb.WireError).code],
    [false, "error", "invalid_params"],
  );
  assert.match(text(result), /the arguments are not valid[^]*path[^]*depth/);
  assert.equal(runs, 0);
});

test("a tool that throws gives an error result, in its words", async (t) => {
  const reported = t.mock.method(console, "error", none);
  const failing = (name: string, error: Error) =>
    bb.defineTool({ name, input: z.object({}), run: () => Promise.reject(error) });
  await using running = await serving(
    failing("known", new bb.BytebotError("not_found", "no such file")),
    failing("unknown", new Error("boom")),
  );
  const known = await called(running, "known", {});
  assert.deepEqual(
    [known["status"], text(known), (known["error"] as bb.WireError).code],
    ["error", "no such file", "not_found"],
  );
  assert.equal(reported.mock.callCount(), 0);
  const unknown = await called(running, "unknown", {});
  assert.deepEqual([text(unknown), (unknown["error"] as bb.WireError).code], ["boom", "internal"]);
  assert.equal(reported.mock.callCount(), 1);
});

test("a call runs in its scope, reports progress and asks the person", async () => {
  const remove = bb.defineTool({
    name: "remove",
    input: z.object({ path: z.string() }),
    run: async ({ path }, call) => {
      call.progress("looking", 2);
      const { outcome, value } = await call.ask({ prompt: `Remove ${path}?`, schema: z.object({ sure: z.boolean() }) });
      return { scope: bb.currentScope(), callId: call.callId, outcome, value };
    },
  });
  await using running = await serving(remove);
  const { peer } = running;
  const result = called(running, "remove", { path: "a" }, "c7");
  assert.deepEqual(await peer.next("bb_tool_progress"), {
    event_type: "bb_tool_progress",
    call_id: "c7",
    text: "looking",
    fraction: 1,
  });
  const question = await peer.next("bb_input_request");
  validate(question);
  assert.deepEqual([question["call_id"], question["scope"], question["prompt"]], ["c7", "u_1", "Remove a?"]);
  assert.deepEqual((question["schema"] as { required: string[] }).required, ["sure"]);
  const answer = {
    event_type: "bb_input_result",
    in_reply_to: String(question["id"]),
    success: true,
    outcome: "accepted",
    value: { sure: true },
  };
  peer.send(answer);
  assert.deepEqual(JSON.parse(text(await result)), {
    scope: "u_1",
    callId: "c7",
    outcome: "accepted",
    value: { sure: true },
  });
});

test("a cancelled call ends its question and says what it did; one that goes on is answered for", async () => {
  const asks = bb.defineTool({
    name: "asks",
    input: z.object({}),
    run: async (_input, call) => {
      await call.ask({ prompt: "?" }).catch(() => {
        throw new bb.BytebotError("cancelled", "nothing was removed");
      });
    },
  });
  const deaf = bb.defineTool({ name: "deaf", input: z.object({}), run: () => new Promise<never>(() => {}) });
  await using running = await serving(asks, deaf);
  const { peer } = running;
  const asked = called(running, "asks", {}, "c1");
  await peer.next("bb_input_request");
  peer.send({ event_type: "bb_cancel", target: "c1" });
  assert.deepEqual([(await asked)["status"], text(await asked)], ["cancelled", "nothing was removed"]);

  const ignored = called(running, "deaf", {}, "c2");
  peer.send({ event_type: "bb_cancel", target: "c2", reason: "deadline" });
  assert.equal((await ignored)["status"], "cancelled");
  assert.match(
    text(await ignored),
    /^cancelled: deadline; it did not end within 500 ms, so whether it took effect is unknown$/,
  );
});

test("calls run side by side, and an unknown name is refused", async () => {
  const both = Promise.withResolvers<void>();
  let running = 0;
  const meet = bb.defineTool({
    name: "meet",
    input: z.object({}),
    run: async () => {
      if (++running === 2) both.resolve();
      await both.promise;
    },
  });
  await using serves = await serving(meet);
  for (const call_id of ["c1", "c2"]) {
    serves.peer.send({ event_type: "bb_tool_call_request", call_id, name: "meet", input: {}, scope: "u_1" });
  }
  for (const call_id of ["c1", "c2"]) assert.equal((await serves.peer.next("bb_tool_call_result"))["call_id"], call_id);
  const result = await called(serves, "gone", {}, "c3");
  assert.match(text(result), /add the tool "gone" with satellite\.tool/);
});

test("a Hub that takes no blobs gets a result over the line limit cut at a character, with a note", async () => {
  await using running = await serving(returns("long", "😀\n".repeat(400_000)));
  const result = await called(running, "long", {});
  const [kept, note] = result["content"] as { text: string }[];
  assert.ok(kept?.text.startsWith("😀\n😀") && kept.text.isWellFormed());
  assert.match(
    note?.text ?? "",
    /^\[cut: 2000000 bytes in all, limit 131072; the whole is not kept: this Hub takes no/,
  );
});

test("tools added later register the whole set again; one the Hub refuses is dropped and reported", async (t) => {
  const reported = t.mock.method(console, "error", none);
  await using running = await serving(returns("one", "1"));
  const { peer, satellite } = running;
  const names = (event: bb.Event) => (event["tools"] as { name: string }[]).map(({ name }) => name);
  const answer = (event: bb.Event, error?: object) =>
    peer.send({
      event_type: "bb_tool_register_result",
      in_reply_to: String(event["id"]),
      success: !error,
      ...(error ? { error } : {}),
    });
  satellite.tool(returns("two", "2"));
  satellite.tool(returns("three", "3"));
  const first = await peer.next("bb_tool_register");
  assert.deepEqual(names(first), ["one", "two", "three"]);
  answer(first);
  satellite.tool(returns("four", "4"));
  const refused = await peer.next("bb_tool_register");
  satellite.tool(returns("five", "5"));
  answer(refused, { code: "conflict", message: "four is taken", retryable: false });
  const last = await peer.next("bb_tool_register");
  answer(last);
  assert.deepEqual(names(last), ["one", "two", "three", "five"]);
  assert.match(String(reported.mock.calls[0]?.arguments[0]), /not registered: four/);
  assert.equal(text(await called(running, "five", {})), "5");
});

test("tools the Hub refuses at the start fail it", async () => {
  const failed = synced({ kind: "toolsource" }, (satellite) => satellite.tool(returns("one", "1")));
  const running = await failed;
  const registered = await running.peer.next("bb_tool_register");
  const error = { code: "conflict", message: "one is taken", retryable: false };
  running.peer.send({
    event_type: "bb_tool_register_result",
    in_reply_to: String(registered["id"]),
    success: false,
    error,
  });
  await assert.rejects(running.reason, /one is taken/);
  assert.equal(await running.peer.end(), "its main failed: one is taken");
});

test("a tool that cannot be described is refused where it is defined", () => {
  const run = none;
  assert.throws(() => bb.defineTool({ name: "t", input: z.string(), run }), /tool "t": its input has to be an object/);
  assert.throws(
    () => bb.defineTool({ name: "t", input: z.object({ at: z.date() }), run }),
    /cannot be written as JSON Schema/,
  );
  assert.throws(
    () => bb.defineTool({ name: "t", input: { parse: none } as unknown as z.ZodType, run }),
    /not of zod 4/,
  );
});

test("a call asks for a child turn with a budget, gets what it said, and its error where it failed (TRN-12, TRN-13)", async () => {
  const delegate = bb.defineTool({
    name: "delegate",
    input: z.object({ name: z.string().optional() }),
    run: async ({ name }, call) => {
      try {
        const { scope, text: answer } = await call.turn("look", { name, budget: { tokens: 1000, rounds: 2 } });
        return `${scope} said ${answer}`;
      } catch (error) {
        const { code, data } = bb.BytebotError.from(error);
        return `${code}: ${JSON.stringify(data)}`;
      }
    },
  });
  await using running = await serving(delegate);
  const { peer } = running;
  const content = [
    { type: "text", text: "all is " },
    { type: "text", text: "well" },
  ];
  const first = called(running, "delegate", { name: "a/b" }, "c1");
  const request = await peer.next("bb_turn_request");
  validate(request);
  assert.deepEqual(
    [request["call_id"], request["scope"], request["content"], request["budget"]],
    ["c1", "u_1/~a%2Fb", "look", { tokens: 1000, rounds: 2 }],
  );
  peer.send({ event_type: "bb_turn_result", in_reply_to: String(request["id"]), success: true, content });
  assert.equal(text(await first), "u_1/~a%2Fb said all is well");
  const second = called(running, "delegate", {}, "c2");
  const other = await peer.next("bb_turn_request");
  assert.match(String(other["scope"]), /^u_1\/~[A-Za-z0-9_-]+$/);
  const error = { code: "budget_exceeded", message: "1000 of 1000 tokens", retryable: false };
  peer.send({ event_type: "bb_turn_result", in_reply_to: String(other["id"]), success: false, content, error });
  assert.equal(text(await second), `budget_exceeded: ${JSON.stringify({ content })}`);
});
