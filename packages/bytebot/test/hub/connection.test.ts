import assert from "node:assert/strict";
import { test } from "node:test";
import { kinds, maySend, schemas, type Kind } from "../../src/wire/index.ts";
import { inferResult, message, register, textChunks, World } from "./world.ts";

test("nothing before bb_sync is heard, and a connection that never syncs is closed (CON-2)", async () => {
  const world = new World({ limits: { syncMs: 10_000 } });
  const ui = await world.connect({ name: "ui" });
  await ui.send(message("too early"));
  assert.equal(ui.last("bb_error")["code"], "not_synced");
  await world.pass(10_000);
  assert.match(String(ui.closed), /no bb_sync within 10 s/);
  await world.end();
});

test("bb_sync narrows the grant of the attachment and never widens it (CON-3)", async () => {
  const world = new World();
  const ui = await world.join(
    "ui",
    { scopes: ["u"], primary: false, controller: false, inputCapable: false },
    { primary: true, controller: true, input_capable: true, owner: true },
  );
  const { primary, controller, input_capable, scopes } = ui.last("bb_sync_ack");
  assert.deepEqual([primary, controller, input_capable, scopes], [false, false, false, ["u"]]);
  await ui.send({ event_type: "bb_attach", id: "a1", ref: "./x" });
  assert.equal(ui.last("bb_error")["code"], "forbidden");
  for (const scope of ["v", "*", "u2"]) {
    const wide = await world.join("ui", { name: `wide-${scope}`, scopes: ["u"] }, { scopes: [scope] });
    assert.equal(wide.last("bb_error")["code"], "not_found", scope);
    assert.ok(wide.closed, scope);
  }
  const narrow = await world.join("ui", { name: "narrow" }, { scopes: ["u/a"], primary: false, controller: false });
  assert.deepEqual([narrow.last("bb_sync_ack")["scopes"], narrow.last("bb_sync_ack")["primary"]], [["u/a"], false]);
  await world.end();
});

test("a second controller and a second primary of a kind are granted false (CON-4)", async () => {
  const world = new World();
  const context = await world.join("context", {}, { controller: true });
  const ui = await world.join("ui", {}, { controller: true, primary: true });
  const second = await world.join("ui", { name: "second" }, { primary: true });
  const infer = await world.join("infer", {}, { controller: true });
  const roles = [context, ui, second, infer].map((peer) => [
    peer.last("bb_sync_ack")["controller"],
    peer.last("bb_sync_ack")["primary"],
  ]);
  assert.deepEqual(roles, [
    [true, true],
    [false, true],
    [false, false],
    [false, true],
  ]);
  await ui.link.close("left");
  const third = await world.join("ui", { name: "third" });
  assert.equal(third.last("bb_sync_ack")["primary"], true, "the role is free again");
  await world.end();
});

test("a component is what it was attached as, speaks version 1, and syncs once (CON-3, CON-5)", async () => {
  const world = new World();
  const liar = await world.join("infer", { name: "liar", kind: "ui" });
  assert.equal(liar.last("bb_error")["code"], "forbidden");
  assert.match(String(liar.last("bb_error")["message"]), /attached as ui and says it is infer/);
  const odd = await world.join("robot" as Kind, { name: "odd" });
  assert.equal(odd.last("bb_error")["code"], "invalid_event");
  const newer = await world.join("ui", { name: "newer" }, { protocol_version: 7 });
  assert.equal(newer.last("bb_sync_ack")["protocol_version"], 1);
  await newer.send({ event_type: "bb_sync", kind: "ui" });
  assert.equal(newer.last("bb_error")["code"], "conflict");
  assert.equal(newer.closed, undefined);
  await world.end();
});

test("the acknowledgement names the component, the Hub and the limits in force (CON-5, FRM-5)", async () => {
  const world = new World();
  const ui = await world.join("ui", {}, { id: "s1" });
  const ack = ui.last("bb_sync_ack");
  assert.deepEqual(
    [ack["component_id"], ack["in_reply_to"], ack["hub"]],
    ["ui", "s1", { name: "world", version: "0" }],
  );
  assert.equal((ack["limits"] as { line_bytes: number }).line_bytes, 1024 * 1024);
  const infer = await world.join("infer");
  assert.equal((infer.last("bb_sync_ack")["limits"] as { line_bytes: number }).line_bytes, 16 * 1024 * 1024);
  await world.end();
});

test("the table of kinds and events holds cell by cell: what is not in it is refused (KND-1, KND-2, ERR-2)", async () => {
  const conversations = ["bb_conversations", "bb_rename", "bb_fork", "bb_delete"];
  const may: Record<Kind, string[]> = {
    ui: ["user_event", "interrupt", "input_reply", "bb_history_request", ...conversations],
    context: ["bb_context_render_result", "bb_input_request"],
    infer: ["infer_chunk", "bb_infer_result"],
    toolsource: ["bb_tool_register", "bb_tool_call_result", "bb_tool_progress", "bb_input_request", "bb_turn_request"],
    telemetry: [],
  };
  const everyKind = ["bb_ack", "bb_error", "bb_ping", "bb_pong", "bb_bye", "bb_blob"];
  const owners = [
    "bb_attach",
    "bb_detach",
    "bb_policy",
    "bb_components",
    "bb_token",
    "bb_turn_request",
    "bb_tool_call_request",
    ...conversations,
  ];
  const somebody = new Set([...Object.values(may).flat(), ...everyKind, ...owners, "bb_sync"]);
  for (const kind of kinds) {
    for (const controller of [false, true]) {
      const world = new World();
      const peer = await world.join(kind, { owner: controller, controller: false }, { owner: controller });
      for (const type of Object.keys(schemas)) {
        const allowed = [...may[kind], ...everyKind, ...(controller ? owners : [])].includes(type);
        const expected = allowed ? "allowed" : somebody.has(type) ? "forbidden" : "not_authority";
        assert.equal(maySend(kind, controller, type), expected, `${kind} ${type}`);
        if (allowed || type === "bb_sync") continue;
        await peer.send({ event_type: type, id: `try_${type}`, scope: "u" });
        assert.equal(peer.last("bb_error")["code"], expected, `${kind} sends ${type}`);
        assert.equal(peer.last("bb_error")["in_reply_to"], `try_${type}`);
      }
      await world.end();
    }
  }
});

test("an unknown bb_ type is unknown_type; any other unknown type passes live to the scope's UIs (ENV-8)", async () => {
  const world = new World();
  const ui = await world.join("ui");
  const tools = await world.join("toolsource");
  await tools.send({ event_type: "bb_teleport", scope: "u" });
  assert.equal(tools.last("bb_error")["code"], "unknown_type");
  await tools.send({ event_type: "com.example/weather", scope: "u", degrees: 21, seq: 5, from: "somebody else" });
  const shown = ui.last("com.example/weather");
  assert.deepEqual([shown["degrees"], shown["from"], shown["seq"]], [21, "toolsource", undefined]);
  await tools.send({ event_type: "com.example/weather" });
  assert.equal(tools.last("bb_error")["code"], "invalid_event");
  assert.deepEqual(await world.entries(), [], "it is not logged");
  await world.end();
});

test("unknown fields stay, and what only the Hub may say of an event is dropped (ENV-6, ENV-7)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  await ui.send(message("hi", "u", { id: "m1", mood: "good", seq: 99_999, ts: 5, from: "the boss", cursor: "x:1" }));
  const heard = ui.last("user_event");
  assert.deepEqual([heard["mood"], heard["from"]], ["good", "ui"]);
  assert.notEqual(heard["seq"], 99_999);
  assert.equal(heard["ts"], world.clock.now());
  await infer.send(inferResult(infer.last("bb_infer_request")));
  await world.end();
});

test("a satellite that is gone ends what waited for it; the infer's loss repeats the round with another (CON-7)", async () => {
  const world = new World({ limits: { retryMs: 100 } });
  const infer = await world.join("infer");
  const spare = await world.join("infer", { name: "spare" });
  const ui = await world.join("ui");
  await ui.send(message("hello"));
  await infer.send(...textChunks(infer.last("bb_infer_request"), "half").slice(0, 2));
  await infer.link.close("killed");
  await world.settle();
  await world.pass(100);
  const request = spare.last("bb_infer_request");
  assert.equal(request["attempt"], 1);
  await spare.send(...textChunks(request, "whole"), inferResult(request));
  assert.equal(ui.last("infer_chunk")["stop_reason"], "end_turn");
  await world.end();
});

test("several infers: the primary serves, another is named by the context (TRN-2, TRN-11)", async () => {
  const world = new World();
  const context = await world.join("context");
  const small = await world.join("infer", { name: "small", primary: false });
  const big = await world.join("infer", { name: "big" });
  const ui = await world.join("ui");
  await ui.send(message("hello"));
  const render = async (more: object) =>
    context.send({
      event_type: "bb_context_render_result",
      in_reply_to: context.last("bb_context_render_request")["id"],
      success: true,
      ...more,
    });
  await render({});
  await big.send(inferResult(big.last("bb_infer_request")));
  await ui.send(message("with the small one"));
  await render({ infer: "small" });
  await small.send(inferResult(small.last("bb_infer_request")));
  await ui.send(message("with none"));
  await render({ infer: "nobody" });
  assert.match(
    String((ui.last("infer_chunk")["error"] as { message: string }).message),
    /no infer component is named "nobody"/,
  );
  assert.equal(big.all("bb_infer_request").length, 1);
  await world.end();
});

test("bb_ping is answered, bb_bye closes, and an infer that wants what is not built is told so (CON-6, CON-10)", async () => {
  const world = new World();
  const ui = await world.join("ui");
  await ui.send({ event_type: "bb_ping", id: "p1" });
  assert.equal(ui.last("bb_pong")["in_reply_to"], "p1");
  await ui.send({ event_type: "bb_bye", reason: "closing time" });
  assert.ok(ui.closed);
  for (const capabilities of [{ api_shape: "gemini" }, { tools: { xml: { dialect: "json" } } }]) {
    const infer = await world.join("infer", { name: JSON.stringify(capabilities) }, { capabilities });
    assert.equal(infer.last("bb_error")["code"], "unavailable");
  }
  await world.end();
});

test("components and policy by event, for the owner and the controller only (KND-1, POL-3)", async () => {
  const world = new World();
  const owner = await world.join("ui", { owner: true }, { owner: true });
  const tools = await world.join("toolsource");
  await tools.send(register("read"));
  await owner.send({ event_type: "bb_components", id: "q1" });
  assert.deepEqual(
    (owner.last("bb_components_result")["components"] as { name: string }[]).map(({ name }) => name),
    ["ui", "toolsource"],
  );
  await owner.send({ event_type: "bb_policy", id: "q2", rules: [{ tool: "*", decision: "deny" }] });
  await owner.send({ event_type: "bb_tool_call_request", id: "q3", name: "read", input: {}, scope: "u" });
  assert.equal(owner.last("bb_tool_call_result")["status"], "denied");
  await owner.send({ event_type: "bb_attach", id: "q4", ref: "./x" });
  assert.equal((owner.last("bb_attach_result")["error"] as { code: string }).code, "unavailable");
  await world.end();
});
