import assert from "node:assert/strict";
import { test } from "node:test";
import { inferResult, message, register, textChunks, toolChunks, World } from "./world.ts";

function without(counts: Record<string, number>, ...names: string[]): Record<string, number> {
  return Object.fromEntries(Object.entries(counts).filter(([name]) => !names.includes(name)));
}

test("a thousand connections that break off leave nothing behind (hard case 29)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const tools = await world.join("toolsource");
  await tools.send(register("read"));
  const base = world.hub.counts();
  const kinds = ["ui", "telemetry", "toolsource", "context", "infer"] as const;
  for (let n = 0; n < 1000; n++) {
    const kind = kinds[n % kinds.length]!;
    const name = `${kind}-${n}`;
    const peer = n % 7 === 0 ? await world.connect({ name }) : await world.join(kind, { name, scopes: [`t${n}`] });
    if (kind === "toolsource") peer.link.send(register(`own_${n}`));
    if (kind === "ui") peer.link.send({ event_type: "interrupt", scope: `t${n}` });
    if (kind === "context") peer.link.send({ event_type: "bb_input_request", id: "k", scope: `t${n}`, prompt: "?" });
    await peer.link.close("pulled out");
    if (kind === "toolsource") world.hub.forget(name);
  }
  await world.pass(60_000);
  // A question that was asked in a scope is remembered with it, so that it is not asked twice.
  const kept = ["conversations", "tenants", "cells", "away", "rates"];
  assert.deepEqual(without(world.hub.counts(), ...kept), without(base, ...kept));
  assert.equal(infer.closed, undefined);
  await world.end();
});

test("ten thousand short scopes, each of its own tenant, leave their transcripts and nothing that runs (hard case 29)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const tools = await world.join("toolsource");
  const ui = await world.join("ui");
  await tools.send(register("read"));
  const base = world.hub.counts();
  for (let n = 0; n < 10_000; n++) {
    ui.link.send(message("hi", `s${n}`, { id: `m${n}` }));
    if (n % 500 !== 499) continue;
    await world.settle();
    for (const request of infer.got.splice(0)) {
      const which = Number(String(request["scope"]).slice(1)) % 3;
      if (which === 0) infer.link.send(inferResult(request));
      else if (which === 1)
        for (const event of [...textChunks(request, "hello"), inferResult(request)]) infer.link.send(event);
      else ui.link.send({ event_type: "interrupt", scope: request["scope"] });
    }
    await world.settle();
    for (const cancel of infer.got.splice(0).filter(({ event_type }) => event_type === "bb_cancel"))
      infer.link.send({ ...inferResult({ event_type: "", id: cancel["target"] }), success: false });
    ui.got.length = 0;
    await world.settle();
  }
  await world.pass(60_000);
  const { conversations, tenants, cells } = world.hub.counts();
  const kept = ["conversations", "tenants", "cells", "rates"];
  assert.deepEqual(without(world.hub.counts(), ...kept), without(base, ...kept));
  assert.deepEqual([conversations, tenants, cells], [1000, 1000, 1000], "the newest; the log has the others (REC-7)");
  await ui.send(message("and now?", "s0"));
  assert.ok(world.hub.counts()["rates"]! <= 1, "who was silent for a second is forgotten with the next event");
  assert.match(
    JSON.stringify(infer.last("bb_infer_request")["messages"]),
    /hi.*and now/,
    "also where it was idle for long",
  );
  await infer.send(inferResult(infer.last("bb_infer_request")));
  await world.end();
});

test("scopes that are only addressed leave nothing at all (QTA-7, hard case 29)", async () => {
  const world = new World();
  const ui = await world.join("ui");
  const base = world.hub.counts();
  for (let n = 0; n < 1000; n++) {
    ui.link.send({ event_type: "interrupt", scope: `s${n}` });
    ui.link.send({ event_type: "bb_history_request", id: `h${n}`, scope: `s${n}` });
    ui.link.send({ event_type: "user_event", type: "message", scope: `s${n}` });
    if (n % 30 === 29) await world.pass(1000);
  }
  await ui.gets("bb_history_result", 1000);
  await world.settle();
  assert.deepEqual(without(world.hub.counts(), "rates"), without(base, "rates"));
  await world.end();
});

test("a cell that has a log already goes on where it stands (LOG-2)", async () => {
  const world = new World();
  await world.log.append("u", 0, { id: "earlier", events: [{ event_type: "interrupt", scope: "u" }] });
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  await ui.send(message("now", "u", { id: "m1" }));
  assert.equal(ui.last("bb_ack")["seq"], 2 * 256);
  await infer.send(
    ...toolChunks(infer.last("bb_infer_request"), "none", {}),
    inferResult(infer.last("bb_infer_request")),
  );
  await infer.send(inferResult(infer.last("bb_infer_request")));
  await world.end();
});
