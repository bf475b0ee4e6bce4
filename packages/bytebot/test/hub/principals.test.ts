import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isPrincipal, type Event } from "../../src/wire/index.ts";
import { cutAfter, goOn, logged, restarted } from "./restart.ts";
import { inferResult, message, register, toolResult, World } from "./world.ts";

test("a principal is a text that one can see, as it is written (PRN-1)", () => {
  const good = ["kim", "kim@ops.example", "Kim Lee", "oidc:1f7", "金", "*", "é", "e\u0301", "x".repeat(128)];
  const bad = [
    "",
    " kim",
    "kim ",
    "a  b",
    "a\nb",
    "a\u00a0b",
    "\u202ekim",
    "k\u200bim",
    "\u0301",
    "k\u00adim",
    "\ud800",
  ];
  for (const text of good) assert.ok(isPrincipal(text), text);
  for (const text of [...bad, "\u3164", "x".repeat(129), 7, null, undefined])
    assert.ok(!isPrincipal(text), String(text));
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 140 }), (text) => {
      if (isPrincipal(text)) assert.match(text, /^[^\p{C}\p{Zl}\p{Zp}]{1,128}$/u);
    }),
    { numRuns: 5000 },
  );
});

test("what comes from a connection with a principal is that person's, and nobody else's word counts (PRN-2, PRN-3)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const kim = await world.join("ui", { name: "phone", principal: "kim" });
  const plain = await world.join("ui", { name: "plain" });
  const web = await world.join("ui", { name: "web", vouches: true, scopes: ["u"] });
  assert.equal(kim.last("bb_sync_ack")["principal"], "kim");
  assert.equal(plain.last("bb_sync_ack")["principal"], undefined);
  const says: [who: typeof kim, principal: string | undefined, expected: string | undefined][] = [
    [kim, undefined, "kim"],
    [kim, "kim", "kim"],
    [plain, undefined, undefined],
    [web, "jo", "jo"],
    [web, undefined, undefined],
  ];
  for (const [who, principal, expected] of says) {
    await who.send(message("hello", "u", principal === undefined ? {} : { principal }));
    assert.equal(plain.last("user_event")["principal"], expected);
    await infer.send(inferResult(infer.last("bb_infer_request")));
  }
  const logged = plain.all("user_event").length;
  const forged: [who: typeof kim, principal: unknown, code: string][] = [
    [kim, "jo", "forbidden"],
    [plain, "kim", "forbidden"],
    [web, "k\u200bim", "invalid_event"],
    [kim, 7, "invalid_event"],
  ];
  for (const [who, principal, code] of forged) {
    for (const event of [
      message("it was not me", "u"),
      { event_type: "interrupt", id: "i", scope: "u" },
      { event_type: "com.example/typing", scope: "u" },
    ]) {
      await who.send({ ...event, principal });
      assert.equal(who.last("bb_error")["code"], code);
    }
  }
  assert.equal(plain.all("user_event").length, logged);
  assert.equal(plain.all("interrupt").length, 0);
  assert.equal(plain.all("com.example/typing").length, 0);
  await web.send(message("across the wall", "v", { principal: "kim" }));
  assert.equal(web.last("bb_error")["code"], "not_found", "within its scopes alone (SCP-7)");
  await kim.send({ event_type: "com.example/typing", scope: "u" });
  assert.equal(plain.last("com.example/typing")["principal"], "kim");
  await world.end();
});

test("bb_sync cannot say who its person is (PRN-2)", async () => {
  const world = new World();
  const ui = await world.join("ui", {}, { principal: "kim", vouches: true });
  await ui.send(message("hello", "u", { principal: "kim" }));
  assert.equal(ui.last("bb_error")["code"], "forbidden");
  assert.equal(ui.last("bb_sync_ack")["principal"], undefined);
  await world.end();
});

test("the log says who said, stopped and asked for what, and so it does after a restart (PRN-3, REC-3)", async () => {
  const world = new World();
  await world.join("infer");
  const tools = await world.join("toolsource");
  await tools.send(register("read"));
  const desk = await world.join("ui", { name: "desk", principal: "kim" });
  const call = { event_type: "bb_tool_call_request", id: "x1", scope: "u", name: "read", input: { path: "a" } };
  await desk.send(call, { event_type: "bb_turn_request", id: "t1", scope: "u", content: "go" });
  await desk.send({ event_type: "interrupt", id: "i1", scope: "u" });
  await tools.send(toolResult(tools.last("bb_tool_call_request"), "ok"));
  await world.pass(1000);
  const entries = await world.entries();
  const of = (events: Event[], type: string): unknown[] =>
    events.filter(({ event_type }) => event_type === type).map(({ principal }) => principal);
  const events = await logged(world);
  for (const type of ["bb_tool_call_request", "user_event", "interrupt"])
    assert.deepEqual(of(events, type), ["kim"], type);
  const sent = entries.findIndex(({ events: [first] }) => first?.event_type === "bb_tool_call_request");
  await world.end();
  // Its call was not answered: what the next Hub asks again is still that person's.
  const next = await restarted(await cutAfter(entries, sent + 1));
  const again = await next.join("ui", { name: "desk", principal: "kim" });
  await goOn(next);
  await again.send(call);
  assert.equal(again.last("bb_tool_call_result")["status"], "lost", "the same request is known as the same");
  await next.end();
});

test("telemetry without content is not told who the people are (KND-4)", async () => {
  const world = new World();
  const bare = await world.join("telemetry", { name: "bare" });
  const full = await world.join("telemetry", { name: "full", content: true });
  const ui = await world.join("ui", { principal: "kim" });
  await world.join("infer");
  await ui.send(message("hello"), { event_type: "interrupt", scope: "u" });
  assert.equal(JSON.stringify(bare.got).includes("kim"), false);
  assert.equal(full.last("user_event")["principal"], "kim");
  await world.pass(1000);
  await world.end();
});
