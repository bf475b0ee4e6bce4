import assert from "node:assert/strict";
import { test } from "node:test";
import type { Event } from "../../src/wire/index.ts";
import { inferResult, message, register, toolChunks, toolResult, World, type Peer } from "./world.ts";

async function calling(
  world: World,
  tools: Event | undefined,
  ...uses: [name: string, input: unknown][]
): Promise<{ infer: Peer; source: Peer; ui: Peer }> {
  const infer = await world.join("infer");
  const source = await world.join("toolsource");
  const ui = await world.join("ui");
  if (tools) await source.send(tools);
  await ui.send(message("go"));
  const request = infer.last("bb_infer_request");
  await infer.send(
    ...uses.flatMap(([name, input], index) => toolChunks(request, name, input, index)),
    inferResult(request, "tool_use"),
  );
  return { infer, source, ui };
}

const finish = (infer: Peer): Promise<Peer> => infer.send(inferResult(infer.last("bb_infer_request")));

test("what was not offered, does not fit its schema or is not JSON never runs, and the model is told (TRN-5, TOL-7, CHK-6, hard case 10)", async () => {
  const world = new World();
  const { infer, source, ui } = await calling(
    world,
    register("read"),
    ["write", {}],
    ["read", { path: 7 }],
    ["read", { path: "a" }],
  );
  assert.equal(source.all("bb_tool_call_request").length, 1);
  assert.deepEqual(
    ui.all("tool_result").map(({ status }) => status),
    ["error", "error"],
  );
  await source.send(toolResult(source.last("bb_tool_call_request"), "a"));
  const told = JSON.stringify(infer.last("bb_infer_request")["messages"]);
  assert.match(told, /no tool \\"write\\"/);
  assert.match(told, /input\/path/);
  const request = infer.last("bb_infer_request");
  const of = { event_type: "infer_chunk", in_reply_to: request["id"], index: 0 };
  await infer.send(
    { ...of, kind: "block_start", block_type: "tool_use", name: "read" },
    { ...of, kind: "block_delta", block_type: "tool_use", delta: '{"path":"' },
    { ...of, kind: "block_stop" },
  );
  await infer.send({ ...inferResult(request, "max_tokens") });
  assert.match(JSON.stringify(infer.last("bb_infer_request")["messages"]), /not valid JSON/);
  await finish(infer);
  assert.equal(source.all("bb_tool_call_request").length, 1);
  await world.end();
});

test("empty, blank and null arguments are {} for a tool without parameters; a call cut by the token limit does not run (CHK-6, TRN-5, hard case 10)", async () => {
  for (const delta of ["", "  ", "null"]) {
    const world = new World();
    const infer = await world.join("infer");
    const source = await world.join("toolsource");
    const ui = await world.join("ui");
    await source.send(register("now"));
    await ui.send(message("go"));
    const request = infer.last("bb_infer_request");
    const of = { event_type: "infer_chunk", in_reply_to: request["id"], index: 0 };
    const chunks = [
      { ...of, kind: "block_start", block_type: "tool_use", name: "now" },
      { ...of, kind: "block_delta", block_type: "tool_use", delta },
      { ...of, kind: "block_stop" },
    ];
    await infer.send(...chunks, inferResult(request, "tool_use"));
    assert.deepEqual(source.last("bb_tool_call_request")["input"], {});
    await source.send(toolResult(source.last("bb_tool_call_request"), "noon"));
    const again = infer.last("bb_infer_request");
    await infer.send(
      ...chunks.map((chunk) => ({ ...chunk, in_reply_to: again["id"] })),
      inferResult(again, "max_tokens"),
    );
    assert.equal(source.all("bb_tool_call_request").length, 1);
    await finish(infer);
    await world.end();
  }
});

test("a registration replaces the component's set whole, or is refused whole and changes nothing (TOL-1, TOL-4)", async () => {
  const world = new World();
  const source = await world.join("toolsource");
  await source.send(register("a", "b"));
  await source.send({
    ...register("c"),
    tools: [...(register("c")["tools"] as unknown[]), ...(register("c")["tools"] as unknown[])],
    id: "twice",
  });
  assert.equal(source.last("bb_error")["code"], "conflict");
  await source.send({
    event_type: "bb_tool_register",
    id: "broken",
    tools: [{ name: "d", input_schema: { $ref: "#/nowhere" } }],
  });
  assert.equal((await source.gets("bb_error", 2))["code"], "invalid_params");
  const ui = await world.join("ui", { controller: true });
  const infer = await world.join("infer");
  await ui.send(message("go"));
  assert.deepEqual(
    (infer.last("bb_infer_request")["tools"] as { name: string }[]).map(({ name }) => name),
    ["a", "b"],
  );
  await finish(infer);
  await source.send(register("z", "c"));
  await ui.send(message("again"));
  assert.deepEqual(
    (infer.last("bb_infer_request")["tools"] as { name: string }[]).map(({ name }) => name),
    ["c", "z"],
    "in a fixed order (TOL-4)",
  );
  await finish(infer);
  await world.end();
});

test("two sources with one name: the second is seen under component_name, and calls reach their own source (TOL-3, hard case 31)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const one = await world.join("toolsource", { name: "one" });
  const two = await world.join("toolsource", { name: "two" });
  const ui = await world.join("ui");
  await one.send(register("read.file"));
  await two.send(register("read.file"));
  assert.deepEqual(two.last("bb_tool_register_result")["tools"], [
    { id: "two/read.file", name: "read.file", model_name: "two_read_file" },
  ]);
  const clash = await world.join("toolsource", { name: "two_read" });
  await clash.send(register("file", "read_file"));
  assert.deepEqual(
    (clash.last("bb_tool_register_result")["tools"] as { model_name: string }[]).map(({ model_name }) => model_name),
    ["file", "two_read_read_file"],
  );
  await ui.send(message("go"));
  const request = infer.last("bb_infer_request");
  await infer.send(...toolChunks(request, "two_read_file", {}), inferResult(request, "tool_use"));
  assert.equal(one.all("bb_tool_call_request").length, 0);
  assert.equal(two.last("bb_tool_call_request")["name"], "read.file", "under its registered name");
  await two.send(toolResult(two.last("bb_tool_call_request"), "x"));
  await finish(infer);
  await world.end();
});

test("a tool that was removed or changed since it was offered does not run (TRN-5, hard case 31)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const source = await world.join("toolsource");
  const ui = await world.join("ui");
  await source.send(register("read"));
  await ui.send(message("go"));
  const request = infer.last("bb_infer_request");
  await source.send({
    ...register("read"),
    id: "reg2",
    tools: [{ name: "read", description: "changed", input_schema: { type: "object" } }],
  });
  await infer.send(...toolChunks(request, "read", {}), inferResult(request, "tool_use"));
  assert.match(JSON.stringify(ui.last("tool_result")["content"]), /removed or changed/);
  assert.equal(source.all("bb_tool_call_request").length, 0);
  await finish(infer);
  await world.end();
});

test("progress is shown, a deadline ends the call with its effect unknown, and the source is told to stop (TOL-8, TOL-9)", async () => {
  const world = new World({ limits: { toolMs: 5000 } });
  const { infer, source, ui } = await calling(world, register("read"), ["read", {}]);
  const call = source.last("bb_tool_call_request");
  assert.equal(call["deadline_ts"], world.clock.now() + 5000);
  await source.send({ event_type: "bb_tool_progress", call_id: call["call_id"], text: "half", fraction: 0.5 });
  assert.deepEqual([ui.last("tool_progress")["text"], ui.last("tool_progress")["scope"]], ["half", "u"]);
  await world.pass(5000);
  assert.equal(ui.last("tool_result")["status"], "timeout");
  assert.equal(source.last("bb_cancel")["target"], call["call_id"]);
  await finish(infer);
  await world.end();
});

test("a lost link ends its calls as lost; an idempotent one goes out again under the same call_id (TOL-2, TOL-6, hard case 30)", async () => {
  const world = new World();
  const [tool] = register("read")["tools"] as [Record<string, unknown>];
  const both = { ...register("read"), tools: [tool, { ...tool, name: "put", annotations: { idempotent: true } }] };
  const { infer, source, ui } = await calling(world, both, ["read", {}], ["put", {}]);
  const put = source.all("bb_tool_call_request").find(({ name }) => name === "put")!;
  await source.link.close("killed");
  await world.settle();
  assert.deepEqual(
    ui.all("tool_result").map(({ name, status }) => [name, status]),
    [["read", "lost"]],
  );
  assert.match(JSON.stringify(ui.last("tool_result")["content"]), /not known/);
  const back = await world.join("toolsource");
  assert.equal(back.last("bb_tool_call_request")["call_id"], put["call_id"]);
  await back.send(both, toolResult(put, "put"));
  assert.deepEqual(
    ui.all("tool_result").map(({ status }) => status),
    ["lost", "ok"],
  );
  await finish(infer);
  await world.end();
});

test("an idempotent call whose source does not return in time is lost (TOL-6)", async () => {
  const world = new World({ limits: { toolMs: 5000 } });
  const [tool] = register("put")["tools"] as [Record<string, unknown>];
  const { infer, source, ui } = await calling(
    world,
    { ...register("put"), tools: [{ ...tool, annotations: { idempotent: true } }] },
    ["put", {}],
  );
  await source.link.close("killed");
  await world.pass(5000);
  assert.equal(ui.last("tool_result")["status"], "lost");
  await finish(infer);
  await world.end();
});

test("the same request id from two connections, both in flight: each gets its own answer (ENV-3, ENV-4, TOL-11, hard case 8)", async () => {
  const world = new World();
  const source = await world.join("toolsource");
  await source.send(register("read"));
  const callers = [
    await world.join("ui", { name: "a", controller: true }),
    await world.join("ui", { name: "b", owner: true }, { owner: true }),
  ];
  for (const [index, caller] of callers.entries()) {
    await caller.send({
      event_type: "bb_tool_call_request",
      id: "same",
      name: "read",
      input: { path: String(index) },
      scope: index === 0 ? "u" : "v",
    });
  }
  const calls = source.all("bb_tool_call_request");
  assert.equal(calls.length, 2);
  for (const call of calls.toReversed())
    await source.send(toolResult(call, `for ${(call["input"] as { path: string }).path}`));
  for (const [index, caller] of callers.entries()) {
    assert.deepEqual(caller.last("bb_tool_call_result")["content"], [{ type: "text", text: `for ${index}` }]);
    assert.equal(caller.last("bb_tool_call_result")["in_reply_to"], "same");
    assert.equal(caller.all("bb_tool_call_result").length, 1);
  }
  await callers[0]!.send({
    event_type: "bb_tool_call_request",
    id: "same",
    name: "read",
    input: { path: "0" },
    scope: "u",
  });
  assert.equal(source.all("bb_tool_call_request").length, 2, "the same id again runs nothing (ENV-3)");
  assert.equal(callers[0]!.all("bb_tool_call_result").length, 2, "and gets the same answer");
  await world.end();
});

test("a result counts only from the connection that got the call (ENV-4)", async () => {
  const world = new World();
  const thief = await world.join("toolsource", { name: "thief" });
  const { infer, source, ui } = await calling(world, register("read"), ["read", {}]);
  const call = source.last("bb_tool_call_request");
  await thief.send(toolResult(call, "forged"));
  assert.equal(thief.last("bb_error")["code"], "not_found");
  await source.send(toolResult(call, "real"));
  assert.deepEqual(ui.last("tool_result")["content"], [{ type: "text", text: "real" }]);
  await finish(infer);
  await world.end();
});

test("a child turn runs below its call and answers it; any other scope is forbidden (TRN-12)", async () => {
  const world = new World();
  const { infer, source, ui } = await calling(world, register("read"), ["read", {}]);
  const call = source.last("bb_tool_call_request");
  const turn = { event_type: "bb_turn_request", id: "t1", call_id: call["call_id"], content: "summarise" };
  for (const scope of ["v", "u", "u/x", "v/~a"]) {
    await source.send({ ...turn, scope });
    assert.equal(source.last("bb_error")["code"], "forbidden", scope);
  }
  await source.send({ ...turn, scope: "u/~a1" });
  const child = infer.last("bb_infer_request");
  assert.equal(child["scope"], "u/~a1");
  await infer.send({ ...inferResult(child), content: [{ type: "text", text: "short" }] });
  assert.deepEqual(source.last("bb_turn_result")["content"], [{ type: "text", text: "short" }]);
  await source.send(toolResult(call, "done"));
  await finish(infer);
  assert.equal(ui.last("infer_chunk")["scope"], "u");
  await world.end();
});

test("a schema of more than 64 Ki characters is refused by its size, and the tools of before stay (TOL-1)", async () => {
  const world = new World();
  const source = await world.join("toolsource");
  await source.send(register("read"));
  const [tool] = register("write")["tools"] as [Record<string, unknown>];
  const input_schema = { type: "object", description: "x".repeat(64 * 1024) };
  await source.send({ ...register("write"), tools: [{ ...tool, input_schema }] });
  assert.equal(source.last("bb_error")["code"], "too_large");
  const ui = await world.join("ui", { controller: true });
  const call = (id: string, name: string): Event => ({
    event_type: "bb_tool_call_request",
    id,
    scope: "u",
    name,
    input: {},
  });
  await ui.send(call("x1", "write"), call("x2", "read"));
  assert.equal(ui.last("bb_tool_call_result")["status"], "error");
  await source.send(toolResult(source.last("bb_tool_call_request"), "read"));
  assert.equal(ui.last("bb_tool_call_result")["status"], "ok");
  await world.end();
});
