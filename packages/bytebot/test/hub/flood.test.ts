import assert from "node:assert/strict";
import { test } from "node:test";
import { offer } from "../../src/hub/index.ts";
import { inprocPair, type Link } from "../../src/transport/index.ts";
import type { Event } from "../../src/wire/index.ts";
import { inferResult, message, World } from "./world.ts";

const MILLION = 1_000_000;

test("a million one-byte deltas arrive whole and in order, and what is kept of them is the block (hard case 16)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  let link: Link | undefined;
  let characters = 0;
  let next = 0;
  let block: Event | undefined;
  const reader = {
    event: (event: Event) => {
      if (event.event_type !== "infer_chunk" || typeof event["n"] !== "number") return;
      assert.equal(event["n"], next++);
      if (event["kind"] === "block_delta") characters += String(event["delta"]).length;
      if (event["kind"] === "block_stop") block = event["block"] as Event;
    },
    fault: assert.fail,
    closed: () => undefined,
  };
  await world.hub.connect(
    offer({ componentId: "ui", name: "ui" }),
    async (hub) => {
      const pair = inprocPair("ui", hub, reader);
      link = pair.satellite;
      return pair.hub;
    },
    AbortSignal.timeout(10_000),
  );
  link!.send({ event_type: "bb_sync", kind: "ui" });
  link!.send(message("tell me everything"));
  await world.settle();
  world.stopWatching(); // `seen` keeps every event, which is what this test is about
  const { id: in_reply_to } = infer.last("bb_infer_request");
  const of = { event_type: "infer_chunk", in_reply_to, index: 0 };
  infer.link.send({ ...of, kind: "block_start", block_type: "text" });
  for (let sent = 0; sent < MILLION; sent++) {
    infer.link.send({ ...of, kind: "block_delta", block_type: "text", delta: "x" });
    if (sent % 10_000 === 0) await world.settle();
  }
  await infer.send({ ...of, kind: "block_stop" }, inferResult(infer.last("bb_infer_request")));
  assert.equal(characters, MILLION);
  assert.equal(String(block?.["text"]).length, MILLION);
  const logged = (await world.entries()).flatMap(({ events }) => events);
  assert.ok(logged.length < 10, `${logged.length} events are in the log`);
  await world.hub.close();
});

test("ten thousand short conversations leave no timer, no queue and nothing active behind (hard case 29)", async () => {
  const world = new World();
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  for (let index = 0; index < 10_000; index++) ui.link.send(message("hi", `s${index}`));
  await world.settle();
  for (const request of infer.all("bb_infer_request")) infer.link.send(inferResult(request));
  await world.settle();
  const ends = ui.all("infer_chunk").filter(({ kind }) => kind === "loop_done");
  assert.equal(ends.length, 10_000);
  await world.end();
});
