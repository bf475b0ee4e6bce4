import assert from "node:assert/strict";
import { duplexPair } from "node:stream";
import { test } from "node:test";
import { offer } from "../../src/hub/index.ts";
import { LineLink } from "../../src/transport/lines.ts";
import { wide } from "../../src/wire/index.ts";
import { becomes, Ears } from "../transport/ears.ts";
import { inferResult, message, register, textChunks, toolChunks, toolResult, World } from "./world.ts";

/** A UI at the other end of a stream, that reads as fast as it can. */
async function reading(world: World, name: string, sync: Record<string, unknown>) {
  const [near, far] = duplexPair();
  const end = async (): Promise<void> => void near.destroy();
  const attached = await world.hub.connect(
    offer({ componentId: name, name, kind: "ui" }),
    async (receiver) => new LineLink({ name, readable: near, writable: near, end }, receiver),
    new AbortController().signal,
  );
  const ears = new Ears();
  const link = new LineLink({ name: "the Hub", readable: far, writable: far, limits: wide, end: async () => {} }, ears);
  link.send({ event_type: "bb_sync", kind: "ui", ...sync });
  return { attached, ears };
}

test("a UI that reads is not called slow for an entry of the log that is larger than it may leave unread (RPL-6, CON-9)", async () => {
  const world = new World();
  const ui = await world.join("ui");
  const infer = await world.join("infer");
  await ui.send(message("go"));
  const content = Array.from({ length: 12 }, (_, n) => ({ type: "text", text: `${n}${"x".repeat(1_000_000)}` }));
  await infer.send({ ...inferResult(infer.last("bb_infer_request")), content });
  await world.settle();
  const { attached, ears } = await reading(world, "back", { resume: "start" });
  const isLive = (): boolean => ears.events.some(({ event_type }) => event_type === "bb_live");
  await becomes("live, or told to go", () => isLive() || ears.events.some(({ event_type }) => event_type === "bb_bye"));
  assert.ok(isLive());
  const blocks = ears.events.flatMap(({ block }) => (block === undefined ? [] : [(block as { text: string }).text[0]]));
  assert.equal(blocks.join(""), "012345678911");
  await attached.close("done");
  await world.end();
});

test("a controller that names a call which is not its own neither rests it nor ends with it (TRN-12, QTA-2)", async () => {
  const world = new World({ quotas: { calls: 1 } });
  const ui = await world.join("ui");
  const infer = await world.join("infer");
  const tools = await world.join("toolsource");
  await tools.send(register("work"));
  for (const scope of ["u", "u/b"]) {
    await ui.send(message("go", scope));
    const request = infer.last("bb_infer_request");
    await infer.send(...toolChunks(request, "work", {}), inferResult(request, "tool_use"));
  }
  const [first] = tools.all("bb_tool_call_request");
  await ui.send({ event_type: "bb_turn_request", id: "t", scope: "u/c", call_id: first!["call_id"], content: "go" });
  assert.equal(tools.all("bb_tool_call_request").length, 1, "the tenant's one call still runs, so the other waits");
  const child = infer.last("bb_infer_request");
  await tools.send(toolResult(first!, "done"));
  await infer.send(...textChunks(child, "whole"), inferResult(child));
  assert.equal(ui.last("bb_turn_result")["success"], true);
  await tools.send(toolResult(tools.last("bb_tool_call_request"), "done"));
  for (const request of infer.all("bb_infer_request").slice(-2)) await infer.send(inferResult(request));
  await world.end();
});

test("of a child conversation that has long ended, a reader that missed it gets a snapshot as well (RPL-7, LOG-5)", async () => {
  const world = new World({ retention: { events: 20, bytes: Infinity } });
  const ui = await world.join("ui");
  const infer = await world.join("infer");
  const turn = async (scope: string, text: string): Promise<void> => {
    await ui.send(message("go", scope));
    const request = infer.last("bb_infer_request");
    await infer.send(...textChunks(request, text), inferResult(request));
  };
  await turn("u/~review", "looks right");
  for (let n = 0; n < 30; n++) await turn("u", `answer ${n}`);
  for (const [name, scopes] of Object.entries({ all: ["*"], child: ["u/~review"] })) {
    const back = await world.join("ui", { name }, { resume: "start", scopes });
    await world.settle();
    const seen = back.got.filter(({ scope }) => scope === "u/~review");
    assert.deepEqual(
      seen.map(({ event_type }) => event_type),
      ["bb_snapshot"],
    );
    assert.match(JSON.stringify(seen), /looks right/);
  }
  await world.end({ finished: false });
});
