import assert from "node:assert/strict";
import { test } from "node:test";
import type { Event, PolicyRule } from "../../src/wire/index.ts";
import { cutAfter, goOn, logged, restarted } from "./restart.ts";
import { inferResult, message, register, toolChunks, toolResult, World, type Peer } from "./world.ts";

const HOUR = 3_600_000;
const ASK: PolicyRule = { tool: "*", decision: "ask" };

interface Stage {
  world: World;
  infer: Peer;
  tools: Peer;
  ui: Peer;
}

async function stage(policy: PolicyRule[], ui: Record<string, unknown> = {}): Promise<Stage> {
  const world = new World({ policy });
  const infer = await world.join("infer");
  const tools = await world.join("toolsource");
  await tools.send(register("read"));
  return { world, infer, tools, ui: await world.join("ui", ui) };
}

/** A turn of this scope whose model calls `read` with this path. */
async function calls({ infer, ui }: Stage, path: string, scope = "u"): Promise<void> {
  await ui.send(message("go", scope));
  const request = infer.last("bb_infer_request");
  await infer.send(...toolChunks(request, "read", { path }), inferResult(request, "tool_use"));
}

/** The tool answers, and the turn ends. */
async function ends({ infer, tools }: Stage): Promise<Event> {
  const call = tools.last("bb_tool_call_request");
  await tools.send(toolResult(call, "ok"));
  await infer.send(inferResult(infer.last("bb_infer_request")));
  return call;
}

async function denied({ infer, ui }: Stage): Promise<void> {
  assert.equal(ui.last("tool_result")["status"], "denied");
  await infer.send(inferResult(infer.last("bb_infer_request")));
}

const answer = (ui: Peer, value: string, more: Record<string, unknown> = {}): Event => ({
  event_type: "input_reply",
  in_reply_to: ui.last("input_strict")["id"],
  outcome: "accepted",
  value,
  ...more,
});

test("what is remembered binds as long as its rule says, here and below, and nowhere else (POL-4)", async () => {
  const here = await stage([{ ...ASK, remember_ms: 48 * HOUR }], { principal: "kim" });
  const { world, ui, tools } = here;
  const asked = (): number => ui.all("input_strict").length;
  await calls(here, "a", "u/c");
  assert.deepEqual(ui.last("input_strict")["options"], ["once", "scope", "remember", "deny"]);
  await ui.send(answer(ui, "remember"));
  await ends(here);
  await world.pass(47 * HOUR);
  for (const scope of ["u/c", "u/c/~child"]) {
    await calls(here, "a", scope);
    assert.equal((await ends(here))["approved_by"], "kim", "each call says who has allowed it");
  }
  assert.equal(asked(), 1);
  for (const [path, scope] of [
    ["b", "u/c"],
    ["a", "u"],
    ["a", "u/d"],
  ] as const) {
    await calls(here, path, scope);
    await ui.send(answer(ui, "deny"));
    await denied(here);
  }
  assert.equal(asked(), 4, "other arguments, what is above, and what is beside it ask");
  await world.pass(HOUR);
  await calls(here, "a", "u/c");
  assert.equal(asked(), 5, "its time is over");
  await ui.send(answer(ui, "deny"));
  await denied(here);
  assert.equal(tools.all("bb_tool_call_request").length, 3);
  await world.end();
});

test("an approval for the conversation does not hold below it, and an answer may bind for less than the Hub would have it (POL-4)", async () => {
  const here = await stage([ASK]);
  const { world, ui } = here;
  await calls(here, "a");
  assert.deepEqual(
    ui.last("input_strict")["options"],
    ["once", "scope", "deny"],
    "nothing is remembered without a bound",
  );
  await ui.send(answer(ui, "remember"));
  assert.equal(ui.last("bb_error")["code"], "invalid_params");
  await ui.send(answer(ui, "scope", { expires_at: world.clock.now() + HOUR }));
  assert.equal(ui.last("input_resolved")["expires_at"], world.clock.now() + HOUR);
  await ends(here);
  await calls(here, "a", "u/~child");
  await ui.send(answer(ui, "once"));
  await ends(here);
  await world.pass(HOUR);
  await calls(here, "a");
  assert.equal(ui.all("input_strict").length, 3);
  await ui.send(answer(ui, "scope", { expires_at: world.clock.now() + 1000 * HOUR }));
  assert.equal(ui.last("input_resolved")["expires_at"], world.clock.now() + 24 * HOUR, "never for longer");
  await ends(here);
  await world.end();
});

test("what was remembered holds after a restart, with who said so, and its time runs on (POL-4, POL-6, REC-1)", async () => {
  const rule = { ...ASK, remember_ms: 48 * HOUR, approvers: ["kim"] };
  const before = await stage([rule], { principal: "kim" });
  await calls(before, "a");
  await before.ui.send(answer(before.ui, "remember"));
  await ends(before);
  const log = await cutAfter(await before.world.entries(), Infinity);
  await before.world.end();
  const world = await restarted(log, { policy: [rule] });
  await goOn(world);
  const infer = await world.join("infer");
  const tools = await world.join("toolsource");
  await tools.send(register("read"));
  const here = { world, infer, tools, ui: await world.join("ui", { principal: "kim" }) };
  await calls(here, "a");
  assert.equal(here.ui.all("input_strict").length, 0);
  assert.equal((await ends(here))["approved_by"], "kim");
  await world.pass(48 * HOUR);
  await calls(here, "a");
  assert.equal(here.ui.all("input_strict").length, 1);
  await here.ui.send(answer(here.ui, "deny"));
  await denied(here);
  await world.end();
});

test("only a person whom the rule names may answer, with yes or no; another's answer is refused and the question stays open (POL-6)", async () => {
  const here = await stage([{ ...ASK, approvers: ["kim", "*@ops"] }], { principal: "eve" });
  const { world, ui, tools } = here;
  const kim = await world.join("ui", { name: "kims", principal: "kim" });
  const nobody = await world.join("ui", { name: "nobodys" });
  const web = await world.join("ui", { name: "web", vouches: true });
  await calls(here, "a");
  for (const other of [ui, nobody, web]) {
    for (const outcome of ["accepted", "declined", "whatever"]) {
      await other.send({ ...answer(ui, "once"), outcome });
      assert.equal(other.last("bb_error")["code"], "forbidden");
    }
  }
  await web.send(answer(ui, "once", { principal: "root" }));
  assert.match(String(web.last("bb_error")["message"]), /"root" is not among those who may.*stays open/);
  await nobody.send(answer(ui, "once", { principal: "kim" }));
  assert.match(String(nobody.last("bb_error")["message"]), /has no principal/);
  await ui.send(answer(ui, "once", { principal: "kim" }));
  assert.match(String(ui.last("bb_error")["message"]), /is "eve"/);
  assert.equal(tools.all("bb_tool_call_request").length, 0);
  await web.send(answer(ui, "once", { principal: "jo@ops" }));
  assert.deepEqual([ui.last("input_resolved")["principal"], ui.last("input_resolved")["by"]], ["jo@ops", "web"]);
  await kim.send(answer(ui, "deny"));
  assert.equal(kim.last("bb_error")["code"], "not_found", "the first answer counts");
  assert.equal((await ends(here))["approved_by"], "jo@ops");
  await world.end();
});

test("where nobody is there who may answer, the call is denied at once (POL-6, QUE-2)", async () => {
  const here = await stage([{ ...ASK, approvers: ["kim"] }], { principal: "eve" });
  await calls(here, "a");
  assert.equal(here.ui.last("input_resolved")["outcome"], "expired");
  await denied(here);
  await here.world.end();
});

test("what somebody has allowed who may not do so any more asks again, and a policy that denies counts first (POL-2, POL-6)", async () => {
  const here = await stage([{ ...ASK, approvers: ["kim"], remember_ms: HOUR }], { principal: "kim", controller: true });
  const { world, ui, tools } = here;
  const set = (rules: PolicyRule[]): Promise<unknown> => ui.send({ event_type: "bb_policy", id: "p", rules });
  await calls(here, "a");
  await ui.send(answer(ui, "remember"));
  await ends(here);
  await set([{ ...ASK, approvers: ["jo"] }]);
  const jo = await world.join("ui", { name: "jos", principal: "jo" });
  await calls(here, "a");
  await jo.send(answer(jo, "deny"));
  await denied(here);
  await set([{ tool: "*", decision: "deny" }]);
  await calls(here, "a");
  await denied(here);
  await set([ASK]);
  await calls(here, "b");
  await set([{ tool: "*", decision: "deny" }]);
  await ui.send(answer(ui, "once"));
  await denied(here);
  assert.equal(tools.all("bb_tool_call_request").length, 1);
  await world.end();
});

test("an approval is of one component's tool: another that looks the same asks (POL-2)", async () => {
  const here = await stage([ASK]);
  const { ui, tools, world } = here;
  await calls(here, "a");
  await ui.send(answer(ui, "scope"));
  await ends(here);
  await tools.send({ event_type: "bb_bye", reason: "leaves" });
  const twin = await world.join("toolsource", { name: "twin" });
  world.hub.forget("toolsource");
  await twin.send(register("read"));
  await calls(here, "a");
  assert.equal(ui.all("input_strict").length, 2);
  await ui.send(answer(ui, "deny"));
  await denied(here);
  await world.end();
});

test("an answer to a question of another scope, of one that has ended, or of none changes nothing, and says why (POL-2, SCP-7, hard cases 24 and 36)", async () => {
  const here = await stage([ASK], { scopes: ["u"] });
  const { world, ui, tools } = here;
  const stranger = await world.join("ui", { name: "stranger", scopes: ["v"], principal: "kim", vouches: true });
  await calls(here, "a");
  await stranger.send(answer(ui, "once"));
  assert.equal(stranger.last("bb_error")["code"], "not_found");
  await ui.send(answer(ui, "once", { value: { choice: "once" } }));
  assert.equal(ui.last("bb_error")["code"], "invalid_params");
  await ui.send(answer(ui, "deny"));
  await denied(here);
  const first = answer(ui, "scope");
  await ui.send(first);
  assert.equal(ui.last("bb_error")["code"], "not_found", "it came late");
  await calls(here, "b");
  await ui.send(first);
  assert.equal(tools.all("bb_tool_call_request").length, 0, "an answer is to one question");
  await ui.send(answer(ui, "deny"));
  await denied(here);
  assert.equal(stranger.got.filter(({ scope }) => scope !== undefined).length, 0);
  assert.deepEqual(
    (await logged(world)).filter(({ event_type }) => event_type === "input_resolved").map(({ choice }) => choice),
    ["deny", "deny"],
  );
  await world.end();
});
