import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryLog } from "../../src/log/index.ts";
import { Recall } from "../../src/hub/recovery/recall.ts";
import type { Event } from "../../src/wire/index.ts";
import { calling, cast, cutAfter, ends, goOn, logged, restarted, types } from "./restart.ts";
import { inferFailure, inferResult, message, register, textChunks, toolResult, World } from "./world.ts";

test("killed after any entry of a turn with two tools, the turn comes to its end, and nothing that may not runs twice (REC-4, hard cases 21 and 34)", async () => {
  const before = new World();
  const first = await cast(before, []);
  await first.ui.send(message("go", "u", { id: "m1" }));
  await before.settle();
  const whole = await before.entries();
  await before.end();
  assert.ok(whole.length >= 6, `${whole.length} entries`);
  for (let count = 1; count <= whole.length; count++) {
    const prefix = whole.slice(0, count).flatMap(({ events }) => [...events]);
    const world = await restarted(await cutAfter(whole, count));
    const ran: string[] = [];
    const { ui, infer } = await cast(world, ran);
    await goOn(world);
    await world.pass(60_000);
    const events = await logged(world);
    const story = `after ${count} entries: ${types(events).join(", ")}`;
    assert.equal(events.filter(({ event_type }) => event_type === "user_event").length, 1, story);
    assert.deepEqual(
      ends(events).map(({ stop_reason }) => stop_reason),
      ["end_turn"],
      story,
    );
    const sent = prefix.filter(({ event_type }) => event_type === "bb_tool_call_request");
    const answered = prefix.filter(({ event_type }) => event_type === "bb_tool_call_result");
    for (const { name, call_id } of sent) {
      const again = ran.filter((each) => each === `${String(name)} ${String(call_id)}`).length;
      const isAnswered = answered.some((result) => result["call_id"] === call_id);
      assert.equal(again, name === "look" && !isAnswered ? 1 : 0, `${String(name)} again, ${story}`);
      const result = events.find((each) => each.event_type === "bb_tool_call_result" && each["call_id"] === call_id);
      assert.equal(result?.["status"], name === "look" || isAnswered ? "ok" : "lost", story);
    }
    // The same input again is the same input.
    ui.got.length = 0;
    await ui.send(message("go", "u", { id: "m1" }));
    assert.equal(ui.last("bb_ack")["fate"], "started");
    await ui.send(message("and?", "u", { id: "m2" }));
    await world.settle();
    assert.match(
      JSON.stringify(infer.last("bb_infer_request")["messages"]),
      /go.*let me see.*(ran|lost).*all done.*and\?/,
    );
    await world.end();
  }
});

test("an inference that was cut off is asked for again as the next attempt, and its partial text is gone (REC-2, REC-4)", async () => {
  const before = new World();
  const infer = await before.join("infer");
  const ui = await before.join("ui");
  await ui.send(message("go"));
  await infer.send(...textChunks(infer.last("bb_infer_request"), "half of").slice(0, 2));
  const world = await restarted(await cutAfter(await before.entries(), Infinity));
  await before.hub.close();
  const again = await world.join("infer");
  const reader = await world.join("ui", {}, { resume: "start" });
  assert.equal(reader.all("scope_state").at(0)?.["state"], "running", "it is known before it goes on");
  await goOn(world);
  await world.pass(1000);
  const request = again.last("bb_infer_request");
  assert.deepEqual([request["round"], request["attempt"]], [0, 1]);
  assert.doesNotMatch(JSON.stringify(request["messages"]), /half of/);
  const cut = (await logged(world)).find(({ event_type }) => event_type === "bb_infer_result");
  assert.deepEqual([cut?.["success"], cut?.["synthetic"], cut?.["will_retry"]], [false, true, true]);
  await again.send(...textChunks(request, "all of it"), inferResult(request));
  assert.equal(ends(reader.got)[0]?.["stop_reason"], "end_turn");
  await world.end();
});

test("whatever an input says of loops, a turn that was cut off keeps its name, also on a log that kept the word (ENV-6, REC-1)", async () => {
  const before = new World();
  const infer = await before.join("infer");
  const ui = await before.join("ui");
  await ui.send(message("go"));
  const { loop_id } = infer.last("bb_infer_request");
  const claims = { loop_id: "l_mine", round: 7, attempt: 7, call_id: "c_mine", request_id: "t_mine" };
  const second = message("and", "u", { id: "m2", ...claims });
  await ui.send(second, second);
  assert.equal(ui.all("bb_ack").length, 2, "the same again is the same");
  const whole = await before.entries();
  await before.hub.close();
  const [, , queued] = whole.flatMap(({ events }) => [...events]);
  assert.equal(queued!["id"], "m2");
  assert.deepEqual(
    Object.keys(claims).filter((field) => field in queued!),
    [],
  );
  const old = new Recall();
  for (const event of whole.flatMap(({ events }) => [...events]))
    old.add(event === queued ? { ...event, loop_id: "l_mine" } : event);
  assert.equal(old.conversations.get("u")!.turn!.loopId, loop_id);
  const world = await restarted(await cutAfter(whole, Infinity));
  const again = await world.join("infer");
  await goOn(world);
  await world.pass(1000);
  assert.equal(again.last("bb_infer_request")["loop_id"], loop_id);
  const late = await world.join("ui", { name: "ui" });
  await late.send({ event_type: "interrupt", id: "i1", scope: "u", ...claims });
  await again.send({ ...inferResult(again.last("bb_infer_request")), success: false });
  const stopped = (await logged(world)).find(({ event_type }) => event_type === "interrupt");
  assert.deepEqual([stopped!["id"], stopped!["loop_id"], stopped!["call_id"]], ["i1", undefined, undefined]);
  await world.end();
});

test("a Hub that is killed again and again in the same inference ends the turn after the attempts it has (REC-4)", async () => {
  let log = new MemoryLog();
  for (let life = 0; life < 3; life++) {
    const world = life === 0 ? new World({ log }) : await restarted(log);
    await world.join("infer");
    if (life === 0) await (await world.join("ui")).send(message("go"));
    else await goOn(world);
    await world.pass(5000);
    const next = await cutAfter(await world.entries(), Infinity);
    await world.hub.close();
    log = next;
  }
  const world = await restarted(log);
  await world.join("infer");
  await goOn(world);
  await world.pass(5000);
  const [end] = ends(await logged(world));
  assert.deepEqual([end!["stop_reason"], (end!["error"] as Event)["code"]], ["error", "unavailable"]);
  await world.end();
});

test("what needs a context, an infer or a tool that is not back yet waits for it, not for ever (REC-4)", async () => {
  const before = new World();
  before.hub.expectContext("context", ["*"]);
  const first = await before.join("context");
  await (await before.join("ui")).send(message("go"));
  assert.ok(first.last("bb_context_render_request"));
  const log = await cutAfter(await before.entries(), Infinity);
  await before.hub.close();

  const world = await restarted(log);
  world.hub.expectContext("context", ["*"]);
  await goOn(world);
  await world.pass(5000);
  const context = await world.join("context");
  await world.pass(5000);
  assert.equal(context.all("bb_context_render_request").length, 0, "it is told who would answer");
  const tools = await world.join("toolsource");
  await tools.send(register("read"));
  const infer = await world.join("infer");
  const asked = context.last("bb_context_render_request");
  assert.deepEqual(
    (asked["tools"] as { name: string }[]).map(({ name }) => name),
    ["read"],
  );
  await context.send({ event_type: "bb_context_render_result", in_reply_to: asked["id"], success: true });
  await infer.send(inferResult(infer.last("bb_infer_request")));
  await world.end();
});

test("what is new after a restart waits for the infer too, also where nothing had been cut off (REC-4)", async () => {
  const before = new World();
  const infer = await before.join("infer");
  await (await before.join("ui")).send(message("go"));
  await infer.send(inferResult(infer.last("bb_infer_request")));
  const log = await cutAfter(await before.entries(), Infinity);
  await before.end();

  const world = await restarted(log);
  await goOn(world);
  const ui = await world.join("ui");
  await ui.send(message("and on"));
  await world.pass(5000);
  const back = await world.join("infer");
  await back.send(inferResult(back.last("bb_infer_request")));
  assert.deepEqual(
    ends(ui.got).map(({ stop_reason }) => stop_reason),
    ["end_turn"],
  );
  await world.end();
});

test("an infer that is not back in time ends the turn; one that is gets the tools that came back before it (REC-4)", async () => {
  const before = new World();
  await before.join("infer");
  await (await before.join("ui")).send(message("go"));
  const whole = await before.entries();
  await before.hub.close();
  for (const isBack of [true, false]) {
    // The input alone was logged.
    const world = await restarted(await cutAfter(whole, 1));
    const ui = await world.join("ui");
    await goOn(world);
    const tools = await world.join("toolsource");
    await tools.send(register("read"));
    await world.pass(20_000);
    if (isBack) {
      const infer = await world.join("infer");
      const asked = infer.last("bb_infer_request");
      assert.deepEqual(
        (asked["tools"] as { name: string }[]).map(({ name }) => name),
        ["read"],
      );
      await infer.send(inferResult(asked));
    } else {
      await world.pass(20_000);
      assert.match(JSON.stringify(ends(ui.got)), /the infer was lost and is not back within 30 s/);
    }
    await world.end();
  }
});

test("a call that was allowed waits for its tool to be back, not for ever (REC-4, REC-5)", async () => {
  const policy = [{ tool: "*", decision: "ask" as const }];
  const before = new World({ policy });
  await calling(before);
  const whole = await before.entries();
  await before.hub.close();
  for (const isBack of [true, false]) {
    const world = await restarted(await cutAfter(whole, Infinity), { policy });
    const model = await world.join("infer");
    const late = await world.join("ui");
    await goOn(world);
    const question = late.last("input_strict");
    await late.send({ event_type: "input_reply", in_reply_to: question["id"], outcome: "accepted", value: "once" });
    await world.pass(5000);
    assert.equal(world.hub.counts()["active"], 1, "it waits for its tool");
    if (isBack) {
      const again = await world.join("toolsource");
      await again.send(register("read"));
      assert.deepEqual(again.last("bb_tool_call_request")["input"], { path: "a" });
      await again.send(toolResult(again.last("bb_tool_call_request"), "found"));
    } else await world.pass(30_000);
    const said = JSON.stringify(model.last("bb_infer_request")["messages"]);
    assert.match(said, isBack ? /found/ : /There is no tool/);
    await model.send(inferResult(model.last("bb_infer_request")));
    await world.end();
  }
});

test("conversations that are idle leave the memory, and nobody notices (REC-7, ENV-3)", async () => {
  const world = new World({ limits: { idle: 2 }, retention: { events: 12, bytes: Infinity } });
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  const say = async (text: string, scope: string, id: string): Promise<void> => {
    await ui.send(message(text, scope, { id }));
    const request = infer.last("bb_infer_request");
    await infer.send(...textChunks(request, `you said ${text}`), inferResult(request));
  };
  for (let round = 0; round < 6; round++) {
    for (let scope = 0; scope < 6; scope++) await say(`${round} in ${scope}`, `s${scope}`, `m${round}`);
  }
  assert.ok(world.hub.counts()["conversations"]! <= 3, JSON.stringify(world.hub.counts()));
  const { seq, fate } = ui.all("bb_ack").find(({ in_reply_to }) => in_reply_to === "m4")!;
  ui.got.length = infer.got.length = 0;
  await ui.send(message("4 in 0", "s0", { id: "m4" }));
  assert.deepEqual([ui.last("bb_ack")["seq"], ui.last("bb_ack")["fate"]], [seq, fate]);
  assert.equal(infer.got.length, 0, "it ran before");
  await ui.send(message("something else", "s1", { id: "m4" }));
  assert.equal(ui.last("bb_error")["code"], "conflict");
  await say("and last", "s2", "m9");
  const text = JSON.stringify(infer.last("bb_infer_request")["messages"]);
  assert.match(text, /0 in 2.*1 in 2.*2 in 2.*3 in 2.*4 in 2.*5 in 2.*and last/);
  assert.doesNotMatch(text, /in 3/);
  const late = await world.join("telemetry", { name: "late", content: true }, { resume: "start" });
  for (let turn = 0; turn < 100 && late.all("bb_live").length === 0; turn++) await world.settle();
  assert.ok(late.all("bb_snapshot").length > 0);
  assert.equal(late.all("bb_state").length, 0, "what the Hub goes on from does not leave it (REC-6)");
  await world.hub.close();
});

test("a snapshot in the middle of a turn is enough to go on from (REC-1, REC-6)", async () => {
  const options = { retention: { events: 3, bytes: Infinity }, policy: [{ tool: "write", decision: "ask" as const }] };
  const before = new World(options);
  const { ui } = await cast(before, []);
  await ui.send(message("first", "u", { id: "m1" }));
  await ui.send(message("second", "u", { id: "m2" }), message("third", "u", { id: "m3", mode: "steer" }));
  const whole = await before.entries();
  await before.hub.close();
  const bases = whole.flatMap(({ base, open }) => (base ? [open] : []));
  assert.equal(bases.at(-1), true, "the last one stands in the turn");
  const log = await cutAfter(
    whole.map((entry, index) => (index === 0 ? entry : entry)),
    Infinity,
  );
  const world = await restarted(log, options);
  const again = await cast(world, []);
  await goOn(world);
  for (let turn = 0; turn < 4; turn++) {
    await world.pass(1000);
    const open = again.ui.all("input_strict").at(-1);
    if (open)
      await again.ui.send({ event_type: "input_reply", in_reply_to: open["id"], outcome: "accepted", value: "once" });
  }
  const text = JSON.stringify(again.infer.last("bb_infer_request")["messages"]);
  assert.match(text, /first.*look ran.*write ran.*third.*all done.*second/);
  await world.hub.close();
});

test("an inference that failed for good, and one that is tried again, are told apart in the log (REC-2)", async () => {
  const before = new World();
  const infer = await before.join("infer");
  const ui = await before.join("ui");
  await ui.send(message("go"));
  await infer.send(...textChunks(infer.last("bb_infer_request"), "void"));
  await infer.send(inferFailure(infer.last("bb_infer_request"), { code: "overloaded", retryable: true }));
  const retrying = await cutAfter(await before.entries(), Infinity);
  await before.pass(1000);
  await infer.send(...textChunks(infer.last("bb_infer_request"), "seen"));
  await infer.send({ ...inferResult(infer.last("bb_infer_request")), stop_reason: "no_such_reason" });
  const events = await logged(before);
  const results = events.filter(({ event_type }) => event_type === "bb_infer_result");
  assert.deepEqual(
    results.map(({ success, will_retry, error }) => [success, will_retry, (error as Event)["code"]]),
    [
      [false, true, "overloaded"],
      [false, undefined, "invalid_params"],
    ],
  );
  await before.end();
  const world = await restarted(retrying);
  const model = await world.join("infer");
  await goOn(world);
  assert.deepEqual(model.last("bb_infer_request")["attempt"], 1);
  assert.doesNotMatch(JSON.stringify(model.last("bb_infer_request")["messages"]), /void/);
  await model.send(inferResult(model.last("bb_infer_request")));
  await world.end();
});

test("a Hub that shall keep no idle conversation in memory keeps one, and goes on (REC-7)", async () => {
  const world = new World({ limits: { idle: 0 } });
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  for (const [text, scope] of [
    ["one", "u"],
    ["two", "v"],
    ["three", "u"],
  ]) {
    await ui.send(message(text!, scope));
    await infer.send(inferResult(infer.last("bb_infer_request")));
  }
  assert.match(JSON.stringify(infer.last("bb_infer_request")["messages"]), /one.*three/);
  assert.equal(world.hub.counts()["conversations"], 1);
  await world.end();
});
