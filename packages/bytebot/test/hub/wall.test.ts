import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { within, type Event } from "../../src/wire/index.ts";
import { sinkAllows } from "../../src/hub/readers/readers.ts";
import { inferResult, message, register, textChunks, toolChunks, toolResult, World } from "./world.ts";

test("a UI of one scope cannot reach another by any spelling, and the other receives nothing (SCP-7, hard case 36)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const a = await world.join("ui", { name: "a", scopes: ["tenant-a"] });
  const b = await world.join("ui", { name: "b", scopes: ["tenant-b"] });
  await b.send(message("mine", "tenant-b", { id: "m1" }));
  const before = b.got.length;
  const tries = [
    "tenant-b",
    "tenant-b/x",
    "tenant",
    "tenant-a2",
    "TENANT-A",
    "*",
    "/",
    "..",
    "",
    "tenant-a/..",
    "tenant-a/../tenant-b",
    "tenant-a//x",
    "tenant-а",
    "tenant-%61",
    "~tenant-a",
    "tenant-a/.",
    "tenant-a\u200b",
  ];
  for (const scope of tries) {
    for (const event of [
      message("let me in", scope),
      { event_type: "interrupt", scope },
      { event_type: "bb_history_request", id: "h", scope },
      { event_type: "x.y/z", scope },
    ]) {
      await a.send(event);
      assert.match(String(a.last("bb_error")["code"]), /^(not_found|invalid_event)$/, `${event.event_type} ${scope}`);
    }
  }
  assert.equal(b.got.length, before, "not one event reached the other side");
  const history = (scope: string, before: unknown): unknown => ({
    event_type: "bb_history_request",
    id: "h",
    scope,
    before,
  });
  const cursor = b.last("user_event")["cursor"];
  await a.send(history("tenant-b", cursor) as Event, history("tenant-a", cursor) as Event);
  assert.equal((a.last("bb_history_result")["error"] as { code: string }).code, "cursor_expired");
  const wide = await world.join("ui", { name: "wide", scopes: ["tenant-a"] }, { scopes: ["*"] });
  assert.equal(wide.last("bb_error")["code"], "not_found");
  assert.notEqual(wide.closed, undefined);
  const [behind, nowhere] = ["tenant-b", "tenant-zzz"].map((scope) => ({ event_type: "interrupt", scope }));
  await a.send(behind!);
  const { message: first } = a.last("bb_error");
  await a.send(nowhere!);
  assert.equal(
    String(a.last("bb_error")["message"]).replace("zzz", "b"),
    first,
    "behind the wall and not there look the same",
  );
  assert.equal(
    world.seen.filter((event) => event["message"] === "refused at the wall").length > 0,
    true,
    "it is audited",
  );
  assert.equal(infer.all("bb_cancel").length, 0);
  await infer.send(inferResult(infer.last("bb_infer_request")));
  await world.end();
});

test("a reply that names another scope than its request is refused (ENV-5)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const ui = await world.join("ui", { scopes: ["u"] });
  const other = await world.join("ui", { name: "other", scopes: ["v"] });
  await ui.send(message("hello"));
  const request = infer.last("bb_infer_request");
  await infer.send(...textChunks(request, "to the wrong one").map((chunk) => ({ ...chunk, scope: "v" })));
  assert.equal(infer.last("bb_error")["code"], "invalid_event");
  assert.equal(other.all("infer_chunk").length, 0);
  await infer.send(inferResult(request));
  await world.end();
});

test("the two checks of the wall are written apart and agree on every grant and scope (SCP-7, SCP-8)", () => {
  const segment = fc.stringMatching(/^[a-c~]{1,2}$/);
  const scope = fc.array(segment, { minLength: 1, maxLength: 4 }).map((segments) => segments.join("/"));
  const granted = fc.array(fc.oneof(scope, fc.constant("*")), { maxLength: 3 });
  fc.assert(
    fc.property(granted, scope, (scopes, at) =>
      assert.equal(within(scopes, at), sinkAllows(scopes, { event_type: "x", scope: at })),
    ),
    { numRuns: 5000 },
  );
});

test("what passes the first check is stopped at the sink, and reported as a fault (SCP-8)", async () => {
  const world = new World();
  const ui = await world.join("ui", { scopes: ["u"] });
  // The first check is taken away: the connection's grant says it may see everything, the sink's copy does not.
  const readers = (world.hub as unknown as { readers: { deliver(to: unknown, event: object): void } }).readers;
  const grant = { kind: "ui", scopes: ["u"], controller: false, owner: false };
  const id = [...(world.hub as unknown as { open: Map<string, unknown> }).open.keys()][0]!;
  readers.deliver({ id, grant }, { event_type: "user_event", scope: "v", text: "not for u" });
  assert.equal(ui.all("user_event").length, 0);
  assert.match(world.reports.join(), /fault: the sink stopped a user_event/);
  world.reports.length = 0;
  await world.end();
});

test("a toolsource that returns for fewer scopes is sent no call of the others, neither again nor anew (SCP-7, TOL-6)", async () => {
  const world = new World({ limits: { toolMs: 5000 } });
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  const [tool] = register("put")["tools"] as [Record<string, unknown>];
  const tools = { ...register("put"), tools: [{ ...tool, annotations: { idempotent: true, destructive: true } }] };
  const source = await world.join("toolsource");
  await source.send(tools);
  // One call runs when the link is lost, the other asks a person: both are of "u".
  for (const scope of ["u", "u/2"]) {
    await ui.send(message("go", scope));
    const request = infer.last("bb_infer_request");
    await infer.send(...toolChunks(request, "put", {}), inferResult(request, "tool_use"));
  }
  const [running, asking] = ui.all("input_strict");
  const allow = (question: Event | undefined): Event => ({
    event_type: "input_reply",
    in_reply_to: question!["id"],
    outcome: "accepted",
    value: "once",
  });
  await ui.send(allow(running));
  const call = source.last("bb_tool_call_request");
  await source.link.close("killed");
  await world.settle();
  const back = await world.join("toolsource", {}, { scopes: ["v"] });
  await back.send(tools);
  await ui.send(allow(asking));
  assert.equal(back.all("bb_tool_call_request").length, 0);
  await back.send(toolResult(call, "not from here"));
  assert.equal(back.last("bb_error")["code"], "not_found");
  await world.pass(5000);
  assert.deepEqual(
    ui.all("tool_result").map(({ scope, status }) => [scope, status]),
    [
      ["u/2", "error"],
      ["u", "lost"],
    ],
  );
  for (const request of infer.all("bb_infer_request").slice(2)) await infer.send(inferResult(request));
  await world.end();
});

test("a controller of some scopes changes nothing of the whole app, and is told nothing of it (CON-12)", async () => {
  const world = new World({ policy: [{ tool: "*", decision: "deny" }] });
  const some = await world.join("ui", { name: "some", scopes: ["u"] }, { controller: true });
  const source = await world.join("toolsource");
  await source.send(register("read"));
  for (const event of [
    { event_type: "bb_policy", id: "p", rules: [{ tool: "*", decision: "allow" }] },
    { event_type: "bb_components", id: "c" },
    { event_type: "bb_attach", id: "a", ref: "./x" },
    { event_type: "bb_detach", id: "d", component_id: "toolsource" },
  ]) {
    await some.send(event);
    const { in_reply_to, code } = some.last("bb_error");
    assert.deepEqual([in_reply_to, code], [event.id, "forbidden"]);
  }
  await some.send({ event_type: "bb_tool_call_request", id: "t", scope: "u", name: "read", input: {} });
  assert.equal(some.last("bb_tool_call_result")["status"], "denied", "what is of its scope it may ask for");
  await world.end();
});
