import assert from "node:assert/strict";
import { test } from "node:test";
import type { Event } from "../../src/wire/index.ts";
import { calling, cast, cutAfter, ends, goOn, logged, restarted } from "./restart.ts";
import { inferResult, message, register, textChunks, toolChunks, toolResult, World } from "./world.ts";

test("an approval that is open stays open over a restart, and its answer counts once (REC-5, hard case 24)", async () => {
  const policy = [{ tool: "*", decision: "ask" as const }];
  const before = new World({ policy });
  const { ui } = await calling(before);
  const question = ui.last("input_strict");
  await ui.send({ event_type: "input_reply", in_reply_to: question["id"], outcome: "accepted", value: "scope" });
  const whole = await before.entries();
  await before.hub.close();
  const open = whole.findIndex(({ events }) => events.some(({ event_type }) => event_type === "input_strict"));
  for (const count of [open + 1, open + 2]) {
    const world = await restarted(await cutAfter(whole, count), { policy });
    const [model, toolsource] = [await world.join("infer"), await world.join("toolsource")];
    await toolsource.send(register("read"));
    const late = await world.join("ui");
    await goOn(world);
    await world.settle();
    const reply = { event_type: "input_reply", in_reply_to: question["id"], outcome: "accepted", value: "scope" };
    if (count === open + 1) {
      assert.equal(late.last("input_strict")["id"], question["id"]);
      assert.equal(toolsource.all("bb_tool_call_request").length, 0);
      await late.send(reply);
    }
    await late.send(reply);
    assert.equal(late.last("bb_error")["code"], "not_found");
    assert.equal(toolsource.all("bb_tool_call_request").length, 1, `after ${count} entries`);
    await toolsource.send(toolResult(toolsource.last("bb_tool_call_request"), "read"));
    const next = model.last("bb_infer_request");
    await model.send(...toolChunks(next, "read", { path: "a" }), inferResult(next, "tool_use"));
    assert.equal(
      toolsource.all("bb_tool_call_request").length,
      2,
      "approved for the conversation, also after a restart",
    );
    await toolsource.send(toolResult(toolsource.last("bb_tool_call_request"), "read"));
    await model.send(inferResult(model.last("bb_infer_request")));
    await world.end();
  }
});

test("an approval binds the tool that the person saw, also over a restart (REC-5, POL-2)", async () => {
  const policy = [{ tool: "*", decision: "ask" as const }];
  const before = new World({ policy });
  const { ui } = await calling(before);
  const { id } = ui.last("input_strict");
  const log = await cutAfter(await before.entries(), Infinity);
  await before.hub.close();
  const world = await restarted(log, { policy });
  const model = await world.join("infer");
  const other = await world.join("toolsource");
  const changed = register("read");
  (changed["tools"] as { description: string }[])[0]!.description = "does something else now";
  await other.send(changed);
  const late = await world.join("ui");
  await goOn(world);
  await late.send({ event_type: "input_reply", in_reply_to: id, outcome: "accepted", value: "once" });
  assert.equal(other.all("bb_tool_call_request").length, 0);
  assert.match(JSON.stringify(model.last("bb_infer_request")["messages"]), /removed or changed/);
  await model.send(inferResult(model.last("bb_infer_request")));
  await world.end();
});

test("a question of a tool or a context, and a child turn, end with the Hub that was asked (REC-4, REC-5)", async () => {
  const before = new World();
  const { tools } = await calling(before);
  const { call_id } = tools.last("bb_tool_call_request");
  await tools.send(
    { event_type: "bb_input_request", id: "q1", call_id, prompt: "which?" },
    { event_type: "bb_turn_request", id: "t1", call_id, scope: "u/~child", content: "look into it" },
    { event_type: "bb_turn_request", id: "t2", call_id, scope: "u/~child", content: "and that" },
  );
  const log = await cutAfter(await before.entries(), Infinity);
  await before.hub.close();
  const world = await restarted(log);
  const model = await world.join("infer");
  const late = await world.join("ui", {}, { resume: "start" });
  await goOn(world);
  await world.pass(1000);
  assert.equal(late.last("input_resolved")["outcome"], "cancelled");
  const events = await logged(world);
  assert.equal(events.find(({ event_type }) => event_type === "bb_tool_call_result")?.["status"], "lost");
  const child = events.filter(({ scope }) => scope === "u/~child");
  assert.deepEqual(
    ends(child).map(({ stop_reason }) => stop_reason),
    ["interrupted"],
  );
  assert.deepEqual(
    child.filter(({ event_type }) => event_type === "input_state").map(({ fate }) => fate),
    ["returned"],
  );
  await model.send(inferResult(model.last("bb_infer_request")));
  await world.end();
});

test("what was queued and steered before a restart is delivered once, in its order; what was interrupted stays so (REC-4, hard case 19)", async () => {
  const before = new World();
  const ran: string[] = [];
  const { infer, tools, ui } = await cast(before, ran);
  tools.react = () => undefined;
  await ui.send(message("first"), message("steered", "u", { mode: "steer" }), message("queued"));
  assert.equal(tools.all("bb_tool_call_request").length, 2);
  const log = await cutAfter(await before.entries(), Infinity);
  await ui.send({ event_type: "interrupt", scope: "u", id: "i1" });
  const interrupted = await before.entries();
  await before.hub.close();
  void infer;
  {
    const world = await restarted(log);
    const again = await cast(world, ran);
    await goOn(world);
    await world.pass(1000);
    const last = again.infer.last("bb_infer_request")["messages"] as { role: string; content: unknown }[];
    assert.match(JSON.stringify(last), /first.*look ran.*lost.*steered.*all done.*queued/);
    assert.deepEqual(
      ends(await logged(world)).map(({ stop_reason }) => stop_reason),
      ["end_turn", "end_turn"],
    );
    await world.end();
  }
  // The interrupt was logged, and the Hub killed before anything came of it.
  const at = interrupted.findIndex(({ events }) => events.some(({ event_type }) => event_type === "interrupt"));
  for (let count = at + 1; count <= interrupted.length; count++) {
    const world = await restarted(await cutAfter(interrupted, count));
    await cast(world, ran);
    await goOn(world);
    await world.pass(1000);
    const [end] = ends(await logged(world));
    assert.equal(end?.["stop_reason"], "interrupted", `after ${count} entries`);
    await world.end();
  }
});

test("an owner that asks again after a restart, with the same id, gets the answer, and nothing runs twice (REC-3)", async () => {
  const before = new World();
  const tools = await before.join("toolsource");
  await tools.send(register("read"));
  const infer = await before.join("infer");
  const app = await before.join("ui", { name: "app", owner: true });
  const call = { event_type: "bb_tool_call_request", id: "k1", scope: "u", name: "read", input: { path: "a" } };
  const turn = { event_type: "bb_turn_request", id: "t1", scope: "v", content: "what is it?" };
  await app.send(call, turn);
  await tools.send(toolResult(tools.last("bb_tool_call_request"), "once"));
  const request = infer.last("bb_infer_request");
  await infer.send(...textChunks(request, "an answer"), inferResult(request));
  const answers = [app.last("bb_tool_call_result"), app.last("bb_turn_result")];
  const whole = await before.entries();
  await before.hub.close();
  const world = await restarted(await cutAfter(whole, Infinity));
  const back = await world.join("toolsource");
  await back.send(register("read"));
  const again = await world.join("ui", { name: "app", owner: true });
  await goOn(world);
  await again.send(call, turn);
  assert.equal(back.all("bb_tool_call_request").length, 0);
  for (const answer of answers) {
    const same = again.last(answer.event_type);
    const said = ({ content, in_reply_to, ts }: Event): unknown => [content, in_reply_to, ts];
    assert.deepEqual(said(same), said(answer));
  }
  await world.end();
});

test("the app may have what was cut off end, or wait until it is told (REC-4)", async () => {
  const before = new World();
  const infer = await before.join("infer");
  const ui = await before.join("ui");
  await ui.send(message("go"), message("next"), message("elsewhere", "v"));
  await infer.send(...textChunks(infer.all("bb_infer_request")[0]!, "seen"));
  const whole = await before.entries();
  await before.hub.close();
  {
    const world = await restarted(await cutAfter(whole, Infinity), { recovery: "end" });
    const model = await world.join("infer");
    const late = await world.join("ui", {}, { resume: "start" });
    await goOn(world);
    await world.settle();
    assert.equal(model.all("bb_infer_request").length, 0);
    assert.deepEqual(
      ends(late.got).map(({ stop_reason, error }) => [stop_reason, (error as Event)["code"]]),
      [
        ["interrupted", "unavailable"],
        ["interrupted", "unavailable"],
      ],
    );
    assert.equal(late.last("input_state")["fate"], "returned", "what had waited goes back to who sent it");
    await late.send(message("again"));
    assert.match(JSON.stringify(model.last("bb_infer_request")["messages"]), /go.*seen.*again/, "what was seen stays");
    await model.send(inferResult(model.last("bb_infer_request")));
    await world.end();
  }
  const world = await restarted(await cutAfter(whole, Infinity), { recovery: "wait" });
  const model = await world.join("infer");
  const late = await world.join("ui");
  await goOn(world);
  await late.send(message("meanwhile", "u", { id: "m1" }));
  await world.pass(100_000);
  assert.equal(late.last("bb_ack")["fate"], "queued");
  assert.equal(model.all("bb_infer_request").length, 0);
  await late.send({ event_type: "interrupt", scope: "v" });
  assert.equal(ends(late.got).at(-1)?.["scope"], "v", "an interrupt ends it too");
  world.hub.resume("u", "resume");
  await world.settle();
  await world.pass(1000);
  for (let turn = 0; turn < 3; turn++) await model.send(inferResult(model.last("bb_infer_request")));
  await world.end();
});

test("a result that came after the interrupt is no answer, also to a Hub that reads it from the log (REC-2, INT-5)", async () => {
  const before = new World();
  const infer = await before.join("infer");
  const tools = await before.join("toolsource");
  await tools.send(register("read"));
  const ui = await before.join("ui");
  await ui.send(message("go"));
  const request = infer.last("bb_infer_request");
  await infer.send(...textChunks(request, "seen"), ...toolChunks(request, "read", { path: "a" }, 1));
  await ui.send({ event_type: "interrupt", scope: "u", id: "i1" });
  await infer.send(inferResult(request, "tool_use"));
  const whole = await before.entries();
  await before.end();
  const at = whole.findIndex(({ events }) => events.some(({ event_type }) => event_type === "interrupt"));
  for (let count = at + 1; count <= whole.length; count++) {
    const world = await restarted(await cutAfter(whole, count));
    const model = await world.join("infer");
    const late = await world.join("ui");
    await goOn(world);
    assert.deepEqual(
      ends(await logged(world)).map(({ stop_reason }) => stop_reason),
      ["interrupted"],
      `after ${count} entries`,
    );
    await late.send(message("and now"));
    const said = JSON.stringify(model.last("bb_infer_request")["messages"]);
    assert.match(said, /seen.*and now/);
    assert.doesNotMatch(said, /tool_use/);
    await model.send(inferResult(model.last("bb_infer_request")));
    await world.end();
  }
});
