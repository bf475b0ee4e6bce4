import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, connect, type AddressInfo, type Socket } from "node:net";
import { test } from "node:test";
import { offer } from "../../src/hub/index.ts";
import { LineLink } from "../../src/transport/lines.ts";
import type { Event } from "../../src/wire/index.ts";
import { inferResult, message, World } from "../hub/world.ts";
import { held, memory } from "./held.ts";

test("100 MB of stream with a UI that does not read: it is closed, memory stays bounded, the turn and the others do not notice (CON-9, hard case 28)", async (t) => {
  const world = new World({ limits: { attempts: 20 } });
  world.stopWatching();
  const infer = await world.join("infer");
  const slow = await held(world, "slow");
  let characters = 0;
  const healthy = await world.join("ui", { name: "healthy" });
  const count = ({ delta }: Event) => (characters += typeof delta === "string" ? delta.length : 0);
  Object.assign(healthy, { got: { push: count } });
  await healthy.send(message("go"));
  const base = memory();
  let most = 0;
  for (let attempt = 0; attempt < 10; attempt++) {
    const { id: in_reply_to } = infer.last("bb_infer_request");
    const delta = { event_type: "infer_chunk", kind: "block_delta", index: 0, block_type: "text" };
    for (let n = 0; n < 10_000; n++) {
      infer.link.send({ ...delta, in_reply_to, delta: `${attempt} ${n} `.padEnd(1000, "x") });
      if (n % 500 === 0) await world.settle();
      if (n % 5000 === 0) most = Math.max(most, memory() - base);
    }
    // What a failed attempt said is void: nothing of it is kept.
    const error = { code: "internal", message: "it broke", retryable: attempt < 9, retry_after_ms: 1 };
    await infer.send({ event_type: "bb_infer_result", in_reply_to, success: false, error });
    await world.pass(1);
  }
  slow.far.destroy();
  assert.equal((await slow.attached.closed).reason, "slow_consumer");
  assert.equal(characters, 100_000_000);
  t.diagnostic(`at most ${(most / 1e6).toFixed(1)} MB more than before`);
  // 8 MiB for the reader, and the 10 MB of the answer that runs.
  assert.ok(most < 64e6, `${(most / 1e6).toFixed(1)} MB`);
  await world.hub.close();
});

test("a thousand readers that come, resume and are cut off at any moment leave nothing behind (hard case 29)", async (t) => {
  const world = new World();
  world.stopWatching();
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  for (let n = 0; n < 30; n++) ui.link.send(message("x".repeat(1000), `s${n}`));
  await world.settle();
  for (const request of infer.all("bb_infer_request")) infer.link.send(inferResult(request));
  await world.settle();
  await ui.send(message("go", "u"));
  const { id: in_reply_to } = infer.last("bb_infer_request");
  const chunk = { event_type: "infer_chunk", in_reply_to, index: 0, kind: "block_delta", block_type: "text" };
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const come = async (n: number): Promise<() => Promise<unknown>> => {
    const far = connect(port, "127.0.0.1").on("error", () => undefined);
    const [near] = (await once(server, "connection")) as [Socket];
    const kind = n % 2 === 0 ? "ui" : "telemetry";
    const end = async (): Promise<void> => void near.destroy();
    const attached = await world.hub.connect(
      offer({ componentId: "back", name: "back", kind }),
      async (receiver) => new LineLink({ name: "back", readable: near, writable: near, end }, receiver),
      new AbortController().signal,
    );
    attached.ready.catch(() => undefined);
    return async () => {
      far.write(`${JSON.stringify({ event_type: "bb_sync", kind, resume: n % 3 === 0 ? undefined : "start" })}\n`);
      let left = (n * 7919) % 50_000;
      let end = "";
      far.on("data", (bytes: Buffer) => {
        left -= bytes.length;
        const text = end + bytes.toString("latin1");
        end = text.slice(-20);
        if (left <= 0 || text.includes("bb_live")) far.resetAndDestroy();
      });
      if (n % 5 === 0 || n % 3 === 0) far.resetAndDestroy();
      infer.link.send({ ...chunk, delta: "on" });
      await attached.closed;
    };
  };
  let base = 0;
  for (let n = 0; n < 1000; n += 20) {
    const all: (() => Promise<unknown>)[] = [];
    while (all.length < 20) all.push(await come(n + all.length));
    await Promise.all(all.map((cut) => cut()));
    if (n === 100) base = memory(); // what is made once is made
  }
  assert.ok(memory() - base < 8e6, `${((memory() - base) / 1e6).toFixed(1)} MB more than before`);
  await infer.send(inferResult(infer.last("bb_infer_request")));
  await world.end();
});
