import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, connect, type AddressInfo, type Socket } from "node:net";
import { test, type TestContext } from "node:test";
import { offer, type Attached, type Offer } from "../../src/hub/index.ts";
import { LineLink } from "../../src/transport/lines.ts";
import { wide, type Event, type Kind } from "../../src/wire/index.ts";
import { becomes, Ears } from "../transport/ears.ts";
import { message, World, type Peer } from "../hub/world.ts";
import { held } from "./held.ts";

interface Stalled {
  attached: Attached;
  /** Its end of the socket. */
  far: Socket;
  /** The Hub's link to it. */
  link: () => LineLink;
  read: () => Ears;
}

/** A reader at the other end of a socket, that reads nothing until `read` is called. */
async function stalled(t: TestContext, world: World, kind: Kind, from: Partial<Offer> = {}): Promise<Stalled> {
  const server = createServer({ pauseOnConnect: true }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const hubSide = connect((server.address() as AddressInfo).port, "127.0.0.1");
  const [far] = (await once(server, "connection")) as [Socket];
  t.after(() => {
    far.destroy();
    hubSide.destroy();
    server.close();
  });
  const end = async (): Promise<void> => void hubSide.destroy();
  let link!: LineLink;
  const attached = await world.hub.connect(
    offer({ componentId: kind, name: kind, content: true, ...from }),
    async (receiver) => (link = new LineLink({ name: kind, readable: hubSide, writable: hubSide, end }, receiver)),
    new AbortController().signal,
  );
  far.write(`{"event_type":"bb_sync","kind":"${kind}"}\n`);
  const live = Promise.withResolvers<void>();
  const watcher = world.hub.watch(({ event_type }) => event_type === "bb_live" && live.resolve());
  await live.promise;
  watcher.stop();
  const read = (): Ears => {
    const ears = new Ears();
    new LineLink({ name: "the Hub", readable: far, writable: far, limits: wide, end: async () => {} }, ears);
    far.resume();
    return ears;
  };
  return { attached, far, link: () => link, read };
}

/** A turn that has begun, to be answered piece by piece. */
async function streaming(world: World, infer: Peer, scope: string) {
  const sender = await world.join("ui", { name: `sender-${scope}` });
  await sender.send(message("go", scope), { event_type: "bb_bye", reason: "it has said it" });
  const { id: in_reply_to } = infer.last("bb_infer_request");
  const chunk = { event_type: "infer_chunk", in_reply_to, index: 0 };
  return {
    delta: (text: string, more = {}) =>
      infer.link.send({ ...chunk, kind: "block_delta", block_type: "text", delta: text, ...more }),
    stop: () => infer.send({ ...chunk, kind: "block_stop" }),
    end: () => infer.send({ event_type: "bb_infer_result", in_reply_to, success: true, stop_reason: "end_turn" }),
  };
}

const numbered = (n: number, size: number): Event => ({
  event_type: "com.example/numbered",
  scope: "u",
  n,
  text: "x".repeat(size),
});

test("a UI that leaves 8 MiB unread and takes nothing is closed as slow_consumer, and the others do not notice (CON-9)", async (t) => {
  const world = new World();
  const sender = await world.join("ui", { name: "sender" });
  const slow = await stalled(t, world, "ui");
  for (let n = 0; n < 40; n++) await sender.send(numbered(n, 500_000));
  await world.pass(1000);
  assert.ok(slow.link().buffered > 8 * 1024 * 1024, "it had its time");
  await world.pass(500);
  assert.equal((await slow.attached.closed).reason, "slow_consumer");
  const heard = sender.all("com.example/numbered").map(({ n }) => n);
  assert.deepEqual(
    heard,
    Array.from({ length: 40 }, (_, n) => n),
  );
  await world.end();
});

test("a UI that reads gets a burst of more than 8 MiB, all of it; one of more than 32 MiB is not kept (CON-9)", async (t) => {
  const world = new World();
  const sender = await world.join("ui", { name: "sender" });
  const [fast, never] = [
    await stalled(t, world, "ui", { componentId: "fast" }),
    await stalled(t, world, "ui", { componentId: "never" }),
  ];
  const ears = fast.read();
  for (let n = 0; n < 50; n++) {
    sender.link.send(numbered(n, 1_000_000));
    if (n % 25 < 24) continue;
    const heard = () => ears.events.filter(({ event_type }) => event_type === "com.example/numbered").length;
    await becomes("all 25 MB have come", () => heard() === n + 1);
  }
  assert.equal((await never.attached.closed).reason, "slow_consumer", "without any time that passes");
  await fast.attached.close("done");
  await world.end();
});

test("where a tenant's readers leave too much unread together, the slowest goes; another tenant's does not (QTA-4)", async (t) => {
  const world = new World({ quotas: { buffered: 1024 * 1024 } });
  const sender = await world.join("ui", { name: "sender" });
  const [one, two, other] = [
    await stalled(t, world, "ui", { componentId: "one", scopes: ["u"] }),
    await stalled(t, world, "ui", { componentId: "two", scopes: ["u/c_1"] }),
    await stalled(t, world, "ui", { componentId: "other", scopes: ["v"] }),
  ];
  // 8 MB in all: too little for a reader alone to be closed (CON-9).
  for (let n = 0; n < 16; n++) {
    await sender.send({ ...numbered(n, 50_000), scope: "u/c_1" }, { ...numbered(n, 50_000), scope: "v" });
    await sender.send(numbered(n, 500_000));
  }
  assert.equal((await one.attached.closed).reason, "slow_consumer");
  const open = [two, other].map(({ attached }) => attached.closed.then(() => "closed"));
  assert.equal(await Promise.race([...open, world.settle().then(() => "open")]), "open");
  for (const { attached } of [two, other]) await attached.close("done");
  await world.end();
});

test("telemetry that leaves 1 MiB unread loses events and is told how many (CON-9)", async (t) => {
  const world = new World();
  const sender = await world.join("ui", { name: "sender" });
  const slow = await stalled(t, world, "telemetry");
  let n = 0;
  while (n < 40) await sender.send(numbered(n++, 500_000));
  const ears = slow.read();
  const isNumbered = (event: Event | undefined): boolean => event?.event_type === "com.example/numbered";
  const told = (): number => ears.events.findIndex(({ event_type }) => event_type === "bb_error");
  await becomes("told of its loss, and live again", () => {
    sender.link.send(numbered(n++, 0));
    return told() !== -1 && told() < ears.events.findLastIndex(isNumbered);
  });
  const at = told();
  const { code, data } = ears.events[at]!;
  const before = ears.events.slice(0, at).filter(isNumbered).length;
  const next = ears.events.slice(at).find(isNumbered);
  assert.deepEqual([code, data], ["overloaded", { dropped: Number(next?.["n"]) - before }]);
  assert.ok(before < 40);
  await slow.attached.close("done");
  await world.end();
});

test("a blob is sent at the pace of its reader; one that does not read is told timeout, and the Hub holds little of it (BLB-4, BLB-5)", async (t) => {
  const world = new World({ limits: { blobIdleMs: 5000 } });
  const sender = await world.join("ui", { name: "sender" });
  const data = Buffer.alloc(600_000, "blob").toString("base64");
  for (let part = 0; part < 70; part++) {
    await sender.send({ event_type: "bb_blob", id: "b", scope: "u", part, last: part === 69, data });
  }
  const { ref } = sender.last("bb_blob");
  const slow = await stalled(t, world, "ui");
  slow.far.write(`${JSON.stringify({ event_type: "bb_blob", id: "d", scope: "u", ref })}\n`);
  await becomes("the Hub waits for the reader", () => slow.link().buffered > 1024 * 1024);
  for (let turns = 0; turns < 20; turns++) await world.settle();
  assert.ok(slow.link().buffered < 4 * 1024 * 1024, `${slow.link().buffered} bytes are queued, of 42 MB`);
  const ears = slow.read();
  await becomes("the whole has come", () => ears.events.at(-1)?.["last"] === true);
  const parts = ears.events.filter(({ event_type }) => event_type === "bb_blob");
  const bytes = parts.reduce((sum, event) => sum + Buffer.byteLength(String(event["data"]), "base64"), 0);
  assert.equal(bytes, 42_000_000);

  await slow.attached.close("done");
  const never = await stalled(t, world, "ui");
  never.far.write(`${JSON.stringify({ event_type: "bb_blob", id: "d", scope: "u", ref })}\n`);
  const told: unknown[] = [];
  const watcher = world.hub.watch(({ in_reply_to, code }) => in_reply_to === "d" && code && told.push(code));
  for (let second = 0; second < 200 && told.length === 0; second++) await world.pass(1000);
  assert.deepEqual(told, ["timeout"]);
  watcher.stop();
  await never.attached.close("done");
  await world.end();
});

test("for a reader that is behind the deltas of a block are merged: the text whole, each n accounted for, everything in order (CHK-7)", async (t) => {
  const world = new World();
  const infer = await world.join("infer");
  const healthy = await world.join("ui", { name: "healthy" });
  const slow = await stalled(t, world, "ui");
  const turn = await streaming(world, infer, "u");
  const other = await streaming(world, infer, "v");
  let sent = 0;
  for (let n = 0; n < 24_000; n++) {
    turn.delta(`${sent++} `.padEnd(200));
    if (n % 1000 === 0) await world.settle();
    if (n % 6000 === 0) other.delta("v");
    if (n === 20_000) turn.delta("marked", { "com.example/mark": true });
  }
  await turn.stop();
  await turn.end();
  await other.stop();
  await other.end();
  const ears = slow.read();
  const chunks = () => ears.events.filter(({ event_type }) => event_type === "infer_chunk");
  await becomes("read to the end", () => chunks().filter(({ kind }) => kind === "loop_done").length === 2);
  const own = chunks().filter(({ scope }) => scope === "u");
  let next = 0;
  for (const { n, merged = 1, kind } of own) {
    if (kind === "loop_done") continue;
    next += Number(merged);
    assert.equal(n, next - 1, "as many deltas as it says");
  }
  const deltas = own.filter(({ kind }) => kind === "block_delta");
  const block = own.find(({ kind }) => kind === "block_stop")!["block"] as { text: string };
  assert.equal(deltas.map(({ delta }) => delta).join(""), block.text);
  assert.equal(deltas.filter((delta) => delta["com.example/mark"]).length, 1, "what says more is not merged");
  assert.ok(deltas.length < 20_000, `${deltas.length} deltas`);
  assert.ok(deltas.some(({ merged, delta }) => Number(merged) > 100 && String(delta).length <= 64 * 1024));
  const [stop, done] = own.slice(-2);
  assert.deepEqual([stop?.["kind"], done?.["kind"]], ["block_stop", "loop_done"]);
  const unmerged = healthy.all("infer_chunk").filter(({ scope, kind }) => scope === "u" && kind === "block_delta");
  assert.deepEqual([unmerged.length, unmerged.some(({ merged }) => merged !== undefined)], [24_001, false]);
  await slow.attached.close("done");
  await world.end();
});

test("a UI that is behind and takes nothing for 10 s is closed; one that takes a little is not (CON-9)", async () => {
  const world = new World();
  const sender = await world.join("ui", { name: "sender" });
  const slow = await held(world, "slow");
  const steady = await held(world, "steady");
  for (let n = 0; n < 10; n++) await sender.send(numbered(n, 500_000));
  const ended: string[] = [];
  for (const [name, { attached }] of Object.entries({ slow, steady }))
    void attached.closed.then(({ reason }) => ended.push(`${name}: ${reason}`));
  for (let second = 0; second < 25; second += 5) {
    steady.far.read();
    await world.pass(5000);
  }
  slow.far.destroy();
  await slow.attached.closed;
  assert.deepEqual(ended, ["slow: slow_consumer"]);
  steady.far.resume();
  await steady.attached.close("done");
  await world.end();
});
