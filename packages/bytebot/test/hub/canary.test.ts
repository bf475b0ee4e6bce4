import assert from "node:assert/strict";
import { test } from "node:test";
import type { Event } from "../../src/wire/index.ts";
import { inferResult, message, textChunks, toolChunks, toolResult, World, type Peer } from "./world.ts";

const SCOPES = 100;
/** What the people do; what it leads to is more than ten thousand events from all. */
const SENT = 3600;
const CANARY = /canary-t\d+-/g;

/** The same numbers every time. */
function dice(): (sides: number) => number {
  let state = 12345;
  return (sides) => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return (state >>> 8) % sides;
  };
}

const canary = (scope: unknown): string => `canary-${/^t\d+/.exec(String(scope))![0]}-`;

test("a hundred scopes with a canary each, ten thousand operations through the same satellites: no canary crosses (SCP-7, hard case 37)", async () => {
  const world = new World({ limits: { queue: 1000, callsPerLoop: 1000, sameCalls: 1000 }, quotas: { events: 5000 } });
  world.stopWatching();
  const roll = dice();
  const [infer, tools] = [await world.join("infer"), await world.join("toolsource")];
  const input_schema = { type: "object", properties: { what: { type: "string" } } };
  const ask = { name: "ask", input_schema, annotations: { destructive: true } };
  await tools.send({ event_type: "bb_tool_register", id: "r", tools: [{ name: "read", input_schema }, ask] });
  const uis = new Map<string, Peer>();
  const watching = new Map<string, Peer>();
  for (let n = 0; n < SCOPES; n++) {
    uis.set(`t${n}`, await world.join("ui", { name: `ui-${n}`, scopes: [`t${n}`] }));
    if (n % 10 === 0)
      watching.set(`t${n}`, await world.join("telemetry", { name: `tm-${n}`, scopes: [`t${n}`], content: true }));
  }

  let own = 0;
  let events = 0;
  const send = (peer: Peer, event: Event): void => {
    events++;
    peer.link.send(event);
  };
  infer.react = (request) => {
    if (request.event_type !== "bb_infer_request") return;
    const said = [...new Set(JSON.stringify(request).match(CANARY))];
    assert.deepEqual(said, [canary(request["scope"])], "a prompt holds its own scope's words");
    const what = { what: said[0], at: own++ };
    const chunks = [textChunks(request, said[0]!), toolChunks(request, "read", what), toolChunks(request, "ask", what)];
    const error = { code: "internal", message: said[0], retryable: false };
    const answers: Event[][] = [
      [...chunks[0]!, inferResult(request)],
      [...chunks[1]!, inferResult(request, "tool_use")],
      [...chunks[2]!, inferResult(request, "tool_use")],
      [...chunks[0]!.slice(0, 2), { ...inferResult(request), success: false, error }],
      [...toolChunks(request, `none-${said[0]}`, { what: 1 }), inferResult(request, "tool_use")],
    ];
    for (const event of answers[[0, 0, 0, 1, 2, 3, 4][roll(7)]!]!) send(infer, event);
  };
  tools.react = (call) => {
    if (call.event_type !== "bb_tool_call_request") return;
    const { call_id, input } = call;
    const { what } = input as { what: string };
    assert.equal(what, canary(call["scope"]));
    const asked = { event_type: "bb_input_request", id: `k${own++}`, call_id, prompt: what };
    const child = {
      event_type: "bb_turn_request",
      id: `c${own}`,
      call_id,
      scope: `${String(call["scope"])}/~c`,
      content: what,
    };
    send(tools, { event_type: "bb_tool_progress", call_id, text: what });
    if (roll(4) === 0) send(tools, asked);
    if (roll(4) === 0) send(tools, child);
    send(tools, toolResult(call, what));
  };
  for (const [scope, ui] of uis) {
    ui.react = ({ event_type, id }) => {
      if (event_type !== "input_strict") return;
      const value = ["once", "scope", "deny", canary(scope)][roll(4)];
      send(ui, { event_type: "input_reply", id: `v${own++}`, in_reply_to: id, outcome: "accepted", value });
    };
  }

  for (let n = 0; n < SENT; n++) {
    const scope = `t${roll(SCOPES)}`;
    const ui = uis.get(scope)!;
    const [word, other] = [canary(scope), `t${roll(SCOPES)}`];
    const operations: Event[] = [
      message(word, scope, { id: `m${n}`, mode: ["queue", "steer", "replace", "refuse"][roll(4)] }),
      message(word, `${scope}/c_${roll(3)}`),
      { event_type: "interrupt", scope, reason: word },
      { event_type: "bb_history_request", id: `h${n}`, scope, limit: 3 },
      { event_type: "com.example/note", scope, word },
      { event_type: "interrupt", scope: `${other}/${word}`, id: `i${n}` },
      { event_type: "input_reply", id: `w${n}`, in_reply_to: "none", outcome: "accepted", value: word },
      message(word, other === scope ? "elsewhere" : other),
    ];
    send(ui, operations[roll(operations.length)]!);
    if (n % 50 === 49) await world.pass(20);
  }
  // A question that was answered wrongly waits until it expires; its call's loop may ask again, 50 times at most.
  for (let n = 0; n < 50 && world.hub.counts()["active"]! > 0; n++) await world.pass(400_000);

  for (const [scope, ui] of [...uis, ...watching]) {
    const seen = new Set(JSON.stringify(ui.got).match(CANARY));
    assert.deepEqual([...seen], [canary(scope)], scope);
  }
  for (const { cell, events: logged } of await world.entries()) {
    const seen = new Set(JSON.stringify(logged).match(CANARY));
    assert.ok(
      [...seen].every((word) => word === canary(cell)),
      `the log of ${cell}`,
    );
  }
  assert.deepEqual(world.reports, []);
  assert.ok(events > 10_000, `${events} events`);
  await world.end();
});
