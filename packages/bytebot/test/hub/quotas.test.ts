import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Buckets } from "../../src/hub/tenants/bucket.ts";
import type { Event } from "../../src/wire/index.ts";
import { inferResult, message, register, toolChunks, toolResult, World, type Peer } from "./world.ts";

const requests = (infer: Peer, scope?: string): Event[] =>
  infer.all("bb_infer_request").filter((request) => scope === undefined || request["scope"] === scope);
const scopesOf = (events: Event[]): unknown[] => events.map(({ scope }) => scope);
const refusal = (peer: Peer): unknown[] => {
  const { code, retryable, retry_after_ms } = peer.last("bb_error");
  return [code, retryable, Number(retry_after_ms) > 0];
};

test("a tenant has so many connections and no more; others and those of * do not count to it (QTA-1)", async () => {
  const world = new World({ quotas: { connections: 2 } });
  const join = (name: string, ...scopes: string[]): Promise<Peer> => world.join("ui", { name, scopes });
  const first = await join("one", "u");
  await join("two", "u/c_1");
  const third = await join("three", "v", "u/c_2");
  assert.deepEqual(refusal(third), ["overloaded", true, true]);
  assert.notEqual(third.closed, undefined);
  for (const name of ["a", "b"]) assert.equal((await join(name, "v")).closed, undefined);
  for (const name of ["c", "d", "e"]) assert.equal((await world.join("telemetry", { name })).closed, undefined);
  await first.link.close("left");
  await world.settle();
  assert.equal((await join("four", "u")).closed, undefined);
  await world.end();
});

test("a connection without a scope, which would count to no tenant, is refused (CON-3, QTA-1, QTA-3, SCP-7)", async () => {
  const world = new World();
  await world.join("ui", { name: "boss", scopes: ["v"] });
  const none = await world.join("ui", { name: "none", scopes: ["u"] }, { scopes: [] });
  const given = await world.join("ui", { name: "given", scopes: [] });
  assert.deepEqual([none.last("bb_error")["code"], given.last("bb_error")["code"]], ["invalid_event", "forbidden"]);
  for (const peer of [none, given]) {
    assert.deepEqual([peer.all("bb_sync_ack"), peer.closed === undefined], [[], false]);
  }
  await world.end();
});

test("a tenant's inferences beyond its quota wait in order, and other tenants do not notice (QTA-2)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  for (let n = 0; n < 7; n++) await ui.send(message("hi", `u/c_${n}`));
  assert.deepEqual(scopesOf(requests(infer)), ["u/c_0", "u/c_1", "u/c_2", "u/c_3"]);
  await ui.send(message("hi", "v"), message("hi", "w"));
  assert.deepEqual(scopesOf(requests(infer)).slice(4), ["v", "w"], "at once");
  await ui.send({ event_type: "interrupt", scope: "u/c_5" });
  assert.equal(ui.last("infer_chunk")["stop_reason"], "interrupted", "what only waits ends at once");
  await infer.send(inferResult(requests(infer)[2]!));
  await infer.send(inferResult(requests(infer)[1]!));
  assert.deepEqual(scopesOf(requests(infer)).slice(6), ["u/c_4", "u/c_6"]);
  for (const request of requests(infer).filter((_, index) => index !== 1 && index !== 2))
    await infer.send(inferResult(request));
  assert.equal(ui.all("infer_chunk").length, 9);
  await world.end();
});

test("a conversation that is closed and an infer that is lost give their room back (QTA-2, CON-7)", async () => {
  const world = new World({ quotas: { inferences: 1 }, limits: { attempts: 1 } });
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  await ui.send(message("hi", "u/a"), message("hi", "u/b"));
  assert.equal(requests(infer).length, 1);
  await infer.link.close("crashed");
  await world.settle();
  const back = await world.join("infer");
  assert.deepEqual(scopesOf(requests(back)), ["u/b"]);
  await back.send(inferResult(requests(back)[0]!));
  await world.end();
});

async function calling(world: World, scopes: string[], calls: number): Promise<Record<"infer" | "tools" | "ui", Peer>> {
  const infer = await world.join("infer");
  const tools = await world.join("toolsource");
  const ui = await world.join("ui");
  await tools.send(register("read"));
  for (const scope of scopes) {
    await ui.send(message("go", scope));
    const request = requests(infer, scope)[0]!;
    const chunks = Array.from({ length: calls }, (_, n) => toolChunks(request, "read", { path: `${n}` }, n));
    await infer.send(...chunks.flat(), inferResult(request, "tool_use"));
  }
  return { infer, tools, ui };
}

async function finish(infer: Peer, scopes: string[]): Promise<void> {
  for (const scope of scopes) await infer.send(inferResult(requests(infer, scope).at(-1)!));
}

test("a tenant's calls beyond its quota wait, its conversations taking turns, and other tenants do not notice (QTA-2)", async () => {
  const world = new World({ quotas: { calls: 2 } });
  const scopes = ["u/a", "u/b", "v"];
  const { infer, tools, ui } = await calling(world, scopes, 3);
  const sent = (): string[] =>
    tools.all("bb_tool_call_request").map(({ scope, input }) => `${String(scope)} ${(input as { path: string }).path}`);
  assert.deepEqual(sent(), ["u/a 0", "u/a 1", "v 0", "v 1"]);
  for (let n = 0; n < tools.all("bb_tool_call_request").length; n++)
    await tools.send(toolResult(tools.all("bb_tool_call_request")[n]!, "done"));
  assert.deepEqual(
    sent().filter((call) => call.startsWith("u")),
    ["u/a 0", "u/a 1", "u/a 2", "u/b 0", "u/b 1", "u/b 2"],
  );
  assert.equal(ui.all("tool_result").length, 9);
  await finish(infer, scopes);
  await world.end();
});

test("conversations with calls that wait take turns (QTA-2)", async () => {
  const world = new World({ quotas: { calls: 1 } });
  const scopes = ["u/a", "u/b", "u/c"];
  const { infer, tools } = await calling(world, scopes, 2);
  for (let n = 0; n < 6; n++) await tools.send(toolResult(tools.all("bb_tool_call_request")[n]!, "done"));
  assert.deepEqual(scopesOf(tools.all("bb_tool_call_request")), ["u/a", "u/a", "u/b", "u/c", "u/b", "u/c"]);
  await finish(infer, scopes);
  await world.end();
});

test("a call that waits for a person takes no room, and keeps what it had when it goes on (QTA-2)", async () => {
  const world = new World({ quotas: { calls: 1 } });
  const { infer, tools, ui } = await calling(world, ["u/a", "u/b"], 1);
  const [first] = tools.all("bb_tool_call_request");
  assert.equal(tools.all("bb_tool_call_request").length, 1);
  await tools.send({ event_type: "bb_input_request", id: "k1", call_id: first!["call_id"], prompt: "?" });
  const [, second] = tools.all("bb_tool_call_request");
  assert.equal(second!["scope"], "u/b");
  const { id } = ui.last("input_strict");
  await ui.send({ event_type: "input_reply", in_reply_to: id, outcome: "accepted", value: "yes" });
  await ui.send(message("a third", "u/c"));
  const request = requests(infer, "u/c")[0]!;
  await infer.send(...toolChunks(request, "read", {}), inferResult(request, "tool_use"));
  await tools.send(toolResult(first!, "done"));
  assert.equal(tools.all("bb_tool_call_request").length, 2, "the other one still runs");
  await tools.send(toolResult(second!, "done"));
  await tools.send(toolResult(tools.all("bb_tool_call_request")[2]!, "done"));
  await finish(infer, ["u/a", "u/b", "u/c"]);
  await world.end();
});

test("a call that waits for a child turn takes no room: a child's own calls go on (QTA-2, TRN-12)", async () => {
  const world = new World({ quotas: { calls: 1 } });
  const { infer, tools } = await calling(world, ["u"], 1);
  const [parent] = tools.all("bb_tool_call_request");
  const call_id = parent!["call_id"];
  await tools.send({ event_type: "bb_turn_request", id: "t1", call_id, scope: "u/~a", content: "help" });
  const request = requests(infer, "u/~a")[0]!;
  await infer.send(...toolChunks(request, "read", {}), inferResult(request, "tool_use"));
  await tools.send(toolResult(tools.all("bb_tool_call_request")[1]!, "done"));
  await finish(infer, ["u/~a"]);
  assert.equal(tools.last("bb_turn_result")["success"], true);
  await tools.send(toolResult(parent!, "done"));
  await finish(infer, ["u"]);
  await world.end();
});

test("an interrupt ends calls that wait for room at once, and they never run (QTA-2, INT-1)", async () => {
  const world = new World({ quotas: { calls: 1 } });
  const { tools, ui } = await calling(world, ["u"], 3);
  await ui.send({ event_type: "interrupt", scope: "u" });
  assert.deepEqual(
    ui.all("tool_result").map(({ status }) => status),
    ["cancelled", "cancelled"],
  );
  await tools.send(toolResult(tools.last("bb_tool_call_request"), "done"));
  assert.equal(tools.all("bb_tool_call_request").length, 1);
  assert.equal(ui.last("infer_chunk")["stop_reason"], "interrupted");
  await world.end();
});

test("a tenant that sends more than its events a second is told when to try again; others do not notice (QTA-3)", async () => {
  const world = new World();
  const [one, two] = [
    await world.join("ui", { name: "one", scopes: ["u"] }),
    await world.join("ui", { name: "two", scopes: ["v"] }),
  ];
  const typing = (scope: string): Event => ({ event_type: "com.example/typing", scope });
  for (let n = 0; n < 500; n++) one.link.send(typing("u"));
  await world.settle();
  assert.deepEqual(one.all("bb_error"), []);
  await one.send(typing("u"));
  assert.deepEqual(refusal(one), ["overloaded", true, true]);
  await two.send(typing("v"));
  assert.deepEqual(two.all("bb_error"), []);
  await world.pass(Number(one.last("bb_error")["retry_after_ms"]));
  await one.send(typing("u"));
  assert.equal(one.all("com.example/typing").length, 501);
  await world.end();
});

test("what names the scope or the call of another tenant takes nothing of its events, and is told nothing of them (QTA-3, SCP-7)", async () => {
  const world = new World();
  const { infer, tools, ui } = await calling(world, ["v"], 1);
  const [call] = tools.all("bb_tool_call_request");
  const [flood, other] = [
    await world.join("ui", { name: "flood", scopes: ["u"] }),
    await world.join("toolsource", { name: "other", scopes: ["w"] }),
  ];
  for (let n = 0; n < 600; n++) flood.link.send(message("hi", `v/c_${n % 7}`, { id: `m${n}` }));
  for (let n = 0; n < 600; n++)
    other.link.send({ event_type: "bb_tool_progress", call_id: call!["call_id"], fraction: 0.5 });
  await world.settle();
  for (const { code, message: text } of [...flood.all("bb_error"), ...other.all("bb_error")])
    assert.ok(code === "not_found" || !String(text).includes('"v"'), String(text));
  assert.equal(flood.all("bb_error").length, 600);
  await ui.send(message("mine", "v", { id: "mine" }));
  assert.equal(ui.last("bb_ack")["fate"], "queued");
  await flood.send(message("hi", "u", { id: "own" }));
  assert.equal(flood.last("bb_error")["in_reply_to"], "own", "what it sent has used up its own tenant's room");
  await tools.send(toolResult(call!, "done"));
  await finish(infer, ["v", "v"]);
  await world.end();
});

test("a bucket gives what its rate says, whenever it is asked, and forgets who is silent (QTA-3)", () => {
  const steps = fc.array(fc.record({ key: fc.constantFrom("a", "b"), wait: fc.integer({ min: 0, max: 700 }) }));
  fc.assert(
    fc.property(steps, (asked) => {
      const buckets = new Buckets(3);
      const given: { key: string; at: number }[] = [];
      let now = 1_700_000_000_000;
      for (const { key, wait } of asked) {
        now += wait;
        const again = buckets.take(key, now);
        if (again === 0) given.push({ key, at: now });
        else assert.ok(again <= 334);
      }
      for (const { key, at } of given) {
        const second = given.filter((other) => other.key === key && other.at >= at && other.at < at + 1000);
        assert.ok(second.length <= 3 + 3, `${second.length} in a second`);
      }
      buckets.take("c", now + 2000);
      assert.ok(buckets.size <= 1);
    }),
  );
});

test("whoever sends nothing but what is refused is told, then closed; a few now and then are borne (QTA-5)", async () => {
  const world = new World();
  const [noisy, calm] = [await world.join("ui", { name: "noisy" }), await world.join("ui", { name: "calm" })];
  const bad = { event_type: "input_reply", id: "v", in_reply_to: "none", outcome: "accepted" };
  for (let n = 0; n < 1000; n++) noisy.link.send(bad);
  await world.settle();
  await world.pass(1000);
  for (let n = 0; n < 50; n++) noisy.link.send(bad);
  await world.settle();
  assert.equal(noisy.closed, undefined);
  await noisy.send(bad, bad, bad);
  assert.equal(noisy.last("bb_error")["code"], "overloaded");
  assert.equal(noisy.all("bb_error").length, 1052, "the last one's own, and the reason; then it is not heard");
  assert.match(String(noisy.closed), /refused/);
  await calm.send({ event_type: "bb_ping", id: "p" });
  assert.equal(calm.all("bb_pong").length, 1);
  await world.end();
});

test("a satellite of all tenants is not closed for what one of them has too much of (QTA-3, QTA-5)", async () => {
  const world = new World();
  const { infer, tools, ui } = await calling(world, ["u", "v"], 1);
  const [first, second] = tools.all("bb_tool_call_request");
  const progress = (call: Event): Event => ({
    event_type: "bb_tool_progress",
    call_id: call["call_id"],
    fraction: 0.5,
  });
  for (let n = 0; n < 5000; n++) tools.link.send(progress(first!));
  await tools.send(progress(second!));
  assert.equal(ui.all("tool_progress").filter(({ scope }) => scope === "v").length, 1);
  assert.ok(ui.all("tool_progress").length <= 501);
  await tools.send(toolResult(first!, "done"), toolResult(second!, "done"));
  await finish(infer, ["u", "v"]);
  await world.end();
});

test("a tenant over its token budget gets no more inferences, and others do (QTA-6)", async () => {
  const world = new World({ budgets: { "*": { tokens: 1000 }, "vip_*": {}, v: { tokens: 10 } } });
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  const turn = async (scope: string, tokens: number): Promise<unknown> => {
    const before = requests(infer).length;
    await ui.send(message("hi", scope));
    const usage = { input_tokens: tokens - 3, output_tokens: 1, cache_read_tokens: 1, cache_write_tokens: 1 };
    if (requests(infer).length > before) await infer.send({ ...inferResult(requests(infer).at(-1)!), usage });
    return (ui.last("infer_chunk")["error"] as { code: string } | undefined)?.code;
  };
  assert.equal(await turn("u/a", 999), undefined);
  assert.equal(await turn("u/b", 500), undefined, "checked before, not cut within");
  assert.equal(await turn("u/c", 1), "budget_exceeded");
  assert.equal(await turn("v", 11), undefined);
  assert.equal(await turn("v", 1), "budget_exceeded");
  assert.equal(await turn("vip_1", 5000), undefined);
  assert.equal(await turn("vip_1", 5000), undefined);
  await world.end();
});

test("a cost budget counts by the prices of the model, and refuses what has no price (QTA-6)", async () => {
  const prices = { large: { input: 10, output: 20, cache_read: 1, cache_write: 12 } };
  const world = new World({ budgets: { "*": { cost: 30 } }, prices });
  const context = await world.join("context");
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  const turn = async (model: string | undefined, usage: object): Promise<unknown> => {
    await ui.send(message("hi", "u"));
    const { id } = context.last("bb_context_render_request");
    const chosen = model === undefined ? {} : { model };
    await context.send({ event_type: "bb_context_render_result", in_reply_to: id, success: true, ...chosen });
    const request = requests(infer).at(-1);
    const open = ui.all("infer_chunk").length < ui.all("user_event").length;
    if (open) await infer.send({ ...inferResult(request!), usage });
    return (ui.last("infer_chunk")["error"] as { message: string } | undefined)?.message;
  };
  assert.match(String(await turn(undefined, {})), /no price for a model that the context does not name/);
  assert.match(String(await turn("small", {})), /no price for the model "small"/);
  assert.equal(await turn("large", { input_tokens: 1_000_000, cache_write_tokens: 500_000 }), undefined);
  assert.equal(await turn("large", { output_tokens: 600_000, cache_read_tokens: 2_000_000 }), undefined);
  assert.match(String(await turn("large", {})), /used up: 30 of 30/);
  await world.end();
});

test("a tenant has so many conversations in memory; what nothing came of does not count (QTA-7)", async () => {
  const world = new World({ quotas: { conversations: 3 } });
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  for (let n = 0; n < 20; n++) await ui.send({ event_type: "interrupt", scope: `u/x_${n}` });
  for (let n = 0; n < 20; n++) await ui.send(message(" ", `u/b_${n}`, { id: `b${n}` }));
  assert.equal(ui.all("bb_error").length, 20);
  assert.equal(world.hub.counts()["conversations"], 0);
  for (let n = 0; n < 4; n++) await ui.send(message("hi", `u/c_${n}`));
  assert.deepEqual(refusal(ui), ["overloaded", true, true]);
  await ui.send(message("hi", "v"), message("more", "u/c_0"));
  for (const request of requests(infer)) await infer.send(inferResult(request));
  await infer.send(inferResult(requests(infer).at(-1)!));
  assert.deepEqual(scopesOf(requests(infer)), ["u/c_0", "u/c_1", "u/c_2", "v", "u/c_0"]);
  assert.equal(world.hub.counts()["conversations"], 4);
  await world.end();
});

test("of three tenants one does everything at once, and the other two are served as if it were alone (QTA-1 to QTA-5)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const tools = await world.join("toolsource");
  await tools.send(register("read"));
  const [busy, one, two] = [
    await world.join("ui", { name: "busy", scopes: ["busy"] }),
    await world.join("ui", { name: "one", scopes: ["one"] }),
    await world.join("ui", { name: "two", scopes: ["two"] }),
  ];
  for (let n = 0; n < 600; n++) busy.link.send(message("flood", `busy/c_${n % 50}`, { id: `f${n}` }));
  await world.settle();
  assert.equal(requests(infer).length, 4);
  for (const [peer, scope] of [
    [one, "one"],
    [two, "two"],
  ] as const) {
    await peer.send(message("go", scope, { id: "m1" }));
    assert.equal(peer.last("bb_ack")["fate"], "started");
    const request = requests(infer, scope)[0]!;
    await infer.send(...toolChunks(request, "read", {}), inferResult(request, "tool_use"));
    await tools.send(toolResult(tools.last("bb_tool_call_request"), scope));
    await infer.send(inferResult(requests(infer, scope)[1]!));
    assert.equal(peer.last("infer_chunk")["stop_reason"], "end_turn");
    assert.ok(peer.got.every(({ scope: at }) => at === undefined || at === scope));
  }
  assert.equal(busy.all("bb_error").length, 100);
  await world.end({ finished: false });
});
