import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryBlobs, type StoredBlob } from "../../src/log/index.ts";
import type { Event } from "../../src/wire/index.ts";
import { inferResult, message, register, toolChunks, toolResult, World, type Peer } from "./world.ts";

const picture = (type = "image", bytes = 300_000): Record<string, unknown> => ({
  type,
  mime_type: type === "image" ? "image/png" : "audio/wav",
  data: Buffer.alloc(bytes, "p").toString("base64"),
});
const blob = { type: "blob", ref: `sha256-${"0".repeat(64)}`, mime_type: "image/png", size: 1 };

const codes = (peer: Peer): unknown[] => peer.all("bb_error").map(({ code }) => code);

test("bytes that nobody asked for, or that their sender may not send, are refused and not kept (KND-1, BLB-1)", async () => {
  const world = new World();
  const ui = await world.join("ui");
  const tools = await world.join("toolsource");
  const stranger = await world.connect({ name: "stranger" });
  const result = { event_type: "bb_tool_call_result", call_id: "c_none", success: true, content: [picture()] };
  await ui.send(result);
  await tools.send(result);
  await stranger.send({ ...message("", "u"), content: [picture()] });
  await ui.send(
    { ...message("", "elsewhere/x/.."), content: [picture("audio")] },
    { ...message(""), content: [picture("file", 10), null] },
  );
  assert.deepEqual(codes(ui), ["forbidden", "invalid_event", "invalid_event"]);
  assert.deepEqual(codes(tools), ["not_found"]);
  assert.deepEqual(codes(stranger), ["not_synced"]);
  assert.equal(world.blobs.bytes(), 0);
  await stranger.link.close("left");
  await world.end();
});

test("a large result that is no content is refused, and its call goes on (TOL-10, ENV-7)", async () => {
  const world = new World({ limits: { resultBytes: 100 } });
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  const tools = await world.join("toolsource");
  await tools.send(register("read"));
  await ui.send(message("go"));
  const request = infer.last("bb_infer_request");
  await infer.send(...toolChunks(request, "read", {}), inferResult(request, "tool_use"));
  const call = tools.last("bb_tool_call_request");
  const odd = (...content: unknown[]): Event => ({ ...toolResult(call, ""), content });
  const long = { type: "text", text: "x".repeat(1000) };
  await tools.send(odd(null, long), odd("text", long), odd(long, { type: "text" }), { ...odd(long), scope: "v" });
  assert.deepEqual(codes(tools), ["invalid_event", "invalid_event", "invalid_event", "invalid_event"]);
  assert.deepEqual(ui.all("tool_result"), []);
  await tools.send(odd({ type: "audio", mime_type: "audio/wav", data: "AAAA" }));
  assert.equal(ui.last("tool_result")["status"], "ok");
  await infer.send(inferResult(infer.last("bb_infer_request")));
  await world.end();
});

test("a connection behind whose bytes too much gathers is closed, and says how much (BLB-7, CON-7)", async () => {
  class Stuck extends MemoryBlobs {
    override find(): Promise<StoredBlob | undefined> {
      return new Promise(() => undefined);
    }
  }
  const world = new World({ blobs: new Stuck(), quotas: { events: Infinity } });
  const ui = await world.join("ui");
  ui.link.send({ ...message(""), content: [blob] });
  for (let n = 0; n <= 10_000; n++) ui.link.send({ event_type: "bb_ping" });
  await world.settle();
  assert.match(String(ui.last("bb_bye")["reason"]), /10000 events wait for the log, or for the store of blobs/);
  await world.pass(30_000);
  await world.end();
});

test("thousands of events behind one whose bytes are kept are taken in, in their order (CON-1)", async () => {
  let found = (): void => undefined;
  class Slow extends MemoryBlobs {
    override async find(): Promise<StoredBlob | undefined> {
      await new Promise<void>((resolve) => (found = resolve));
      return undefined;
    }
  }
  const world = new World({ blobs: new Slow(), quotas: { events: Infinity } });
  const ui = await world.join("ui");
  ui.link.send({ ...message("", "u", { id: "m" }), content: [blob] });
  for (let n = 0; n < 3000; n++) ui.link.send({ event_type: "bb_ping", id: `p${n}` });
  await world.settle();
  assert.deepEqual(ui.all("bb_pong"), []);
  found();
  await world.settle();
  assert.equal(ui.got.find(({ in_reply_to }) => in_reply_to !== undefined)!["in_reply_to"], "m");
  assert.deepEqual(
    ui.all("bb_pong").map(({ in_reply_to }) => in_reply_to),
    Array.from({ length: 3000 }, (_, n) => `p${n}`),
  );
  await world.end();
});

test("whichever of its words on an event a satellite uses, what only the Hub may say is dropped (ENV-6)", async () => {
  const world = new World();
  const ui = await world.join("ui");
  for (const [index, stamp] of [
    { seq: 1 },
    { cursor: "x:1.0" },
    { ts: 1 },
    { from: "hub" },
    { observed: true },
  ].entries()) {
    await ui.send({ event_type: "wave", scope: "u", index, ...stamp } as Event);
    const { ts, ...shown } = ui.last("wave");
    assert.deepEqual(shown, { event_type: "wave", scope: "u", index, from: "ui" });
    assert.equal(ts, world.clock.now());
  }
  await world.end();
});

test("a peer that acknowledges is told that an event came, by the name that it has (HTP-10)", async () => {
  const world = new World();
  const tools = await world.join("toolsource", {}, { capabilities: { acks: true } });
  await tools.send(register("read"), { event_type: "bb_ping", id: "p" }, { event_type: "bb_ping" });
  assert.deepEqual(
    tools.all("bb_ack").map(({ in_reply_to }) => in_reply_to),
    ["reg_read"],
  );
  await world.end();
});

test("a turn that is asked for in blocks, or says nothing, is taken at its word (TRN-12, INP-1)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const tools = await world.join("toolsource");
  const owner = await world.join("ui", { owner: true }, { owner: true });
  const wish = (id: string, content: unknown): Event => ({ event_type: "bb_turn_request", id, scope: "u", content });
  await owner.send(wish("t1", " "), wish("t2", [{ type: "text", text: "in a block" }]));
  assert.match(String(owner.last("bb_error")["message"]), /says nothing/);
  assert.match(JSON.stringify(infer.last("bb_infer_request")["messages"]), /in a block/);
  await infer.send(inferResult(infer.last("bb_infer_request")));
  assert.equal(owner.last("bb_turn_result")["in_reply_to"], "t2");
  await tools.send(wish("t3", "without a call"));
  assert.deepEqual(codes(tools), ["forbidden"]);
  await world.end();
});

test("an interrupt of a whole tenant and of a part between is logged where each cell's readers see it (INT-1, SCP-6)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  await ui.send(message("hi", "u/a/~x/~y"), message("hi", "u/b"));
  await ui.send({ event_type: "interrupt", id: "i1", scope: "u/a/~x" });
  await ui.send({ event_type: "interrupt", id: "i2", scope: "u" });
  for (const request of infer.all("bb_infer_request")) await infer.send(inferResult(request));
  const logged = (await world.entries()).flatMap(({ cell, events }) =>
    events.flatMap(({ event_type, id, scope }) => (event_type === "interrupt" ? [[cell, id, scope]] : [])),
  );
  assert.ok(
    logged.some(([cell, id, scope]) => cell === "u/a" && id === "i1" && scope === "u/a/~x"),
    JSON.stringify(logged),
  );
  assert.ok(
    logged.some(([cell, id, scope]) => cell === "u/b" && id === undefined && scope === "u/b"),
    JSON.stringify(logged),
  );
  assert.deepEqual(logged.at(-1), ["u", "i2", "u"], "whose it was is known where it was sent to (INT-6)");
  await world.end();
});
