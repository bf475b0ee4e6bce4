import assert from "node:assert/strict";
import { test } from "node:test";
import type * as bb from "../../src/sdk/index.ts";
import { Histories } from "../../src/sdk/histories.ts";
import { synced } from "./peer.ts";

const said = (role: "user" | "assistant", ...texts: string[]): bb.Message => ({
  role,
  content: texts.map((text) => ({ type: "text", text })),
});

const render = (id: string, history: unknown[], whole: boolean, more: object = {}): bb.Event => ({
  event_type: "bb_context_render_request",
  id,
  scope: "u_1",
  loop_id: "l_1",
  round: 0,
  tools: [],
  history,
  history_whole: whole,
  ...more,
});

const incremental = { history: { incremental: {} } };

test("a handler sees the whole history, whatever of it came (HIS-2)", async () => {
  const seen: unknown[] = [];
  await using running = await synced({ kind: "context", capabilities: incremental }, (satellite) =>
    satellite.onRender(({ history, history_whole }) => {
      seen.push(history);
      assert.equal(history_whole, true);
      assert.throws(() => history[0]?.content.push({ type: "text", text: "mine" }), TypeError);
      history.length = 0; // the list itself is the handler's own
      return {};
    }),
  );
  const { peer } = running;
  const ask = async (request: bb.Event): Promise<bb.Event> => {
    peer.send(request);
    return peer.next("bb_context_render_result");
  };
  const histories: unknown[][] = [];
  await using copy = await synced({ kind: "context", capabilities: incremental }, (satellite) =>
    satellite.onRender(({ history }) => {
      histories.push(structuredClone(history));
      return { messages: history };
    }),
  );
  for (const other of [peer, copy.peer]) {
    other.send(render("r1", [said("user", "a")], true));
    other.send(render("r2", [said("assistant", "b"), said("user", "c")], false));
    other.send(render("r3", [said("user", "d"), said("assistant", "e")], false));
    other.send(render("r4", [said("user", "else")], true, { scope: "u_2" }));
    other.send(render("r5", [said("user", "anew")], true));
    other.send(render("r6", [], false));
    for (let n = 0; n < 6; n++) assert.equal((await other.next("bb_context_render_result"))["success"], true);
  }
  assert.deepEqual(histories, [
    [said("user", "a")],
    [said("user", "a"), said("assistant", "b"), said("user", "c")],
    [said("user", "a"), said("assistant", "b"), said("user", "c", "d"), said("assistant", "e")],
    [said("user", "else")],
    [said("user", "anew")],
    [said("user", "anew")],
  ]);
  assert.equal(seen.length, 6);
  const lost = await ask(render("r7", [said("user", "f")], false, { scope: "u_3" }));
  assert.equal((lost["error"] as bb.WireError).code, "cursor_expired");
  assert.deepEqual(peer.faults, []);
});

test("in the openai shape messages are put behind one another as they are, and answered in it (HIS-2, CNV-2)", async () => {
  const capabilities = { ...incremental, api_shape: "openai" };
  await using running = await synced({ kind: "context", capabilities }, (satellite) =>
    satellite.onRender(({ history, tools }: bb.OpenaiRenderRequestEvent) => ({
      messages: [{ role: "system", content: "Be brief." }, ...history],
      tools,
      tool_choice: "required" as const,
    })),
  );
  const { peer } = running;
  const openai = { api_shape: "openai" };
  peer.send(render("r1", [{ role: "user", content: "a" }], true, openai));
  await peer.next("bb_context_render_result");
  peer.send(render("r2", [{ role: "user", content: "b" }], false, openai));
  const { api_shape, messages, tool_choice } = await peer.next("bb_context_render_result");
  assert.deepEqual([api_shape, tool_choice], ["openai", "required"]);
  assert.deepEqual(messages, [
    { role: "system", content: "Be brief." },
    { role: "user", content: "a" },
    { role: "user", content: "b" },
  ]);
});

test("what is kept is bounded: the conversation that was not rendered for the longest goes first (HIS-2)", () => {
  const histories = new Histories(1000);
  const ask = (scope: string, text: string, whole: boolean): unknown[] | undefined =>
    histories.whole(render("r", [said("user", text)], whole, { scope }) as never);
  ask("u_1", "a".repeat(300), true);
  ask("u_2", "b".repeat(300), true);
  assert.equal(ask("u_1", "c", false)?.length, 1);
  ask("u_3", "d".repeat(400), true);
  assert.equal(ask("u_2", "e", false), undefined);
  assert.equal(ask("u_1", "f", false)?.length, 1);
  assert.equal(ask("u_4", "g".repeat(2000), true)?.length, 1, "what is too large to keep is seen all the same");
  assert.equal(ask("u_4", "h", false), undefined);
  for (let n = 0; n < 2000; n++) ask(`x_${n}`, "i", true);
  assert.equal(ask("x_0", "j", false), undefined);
  assert.equal(ask("x_1999", "j", false)?.length, 1);
});
