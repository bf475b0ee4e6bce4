import assert from "node:assert/strict";
import { suite, test, type TestContext } from "node:test";
import { setImmediate } from "node:timers/promises";
import { Endpoint, listenHttp } from "../../src/transport/index.ts";
import type { Event } from "../../src/wire/index.ts";
import { becomes, Ears } from "../transport/ears.ts";
import { app, message, Peer, served, Wire } from "./client.ts";

const isLive = ({ event_type }: Event) => event_type === "bb_live";
const NDJSON = "content-type: application/x-ndjson\r\n";

/** A UI that dialled in, and what a raw request of its needs. */
async function ui(t: TestContext) {
  const { hub, url } = await served(t);
  const token = hub.addToken({ name: "phone", kind: "ui", scopes: ["u_1"] });
  const peer = Peer.withToken(t, url, token);
  await peer.sync({ kind: "ui" });
  await peer.open();
  await peer.next(isLive);
  const own = `host: localhost\r\nauthorization: Bearer ${token}\r\nbytebot-connection: ${peer.connection}\r\n`;
  return { hub, url, token, peer, own };
}

async function works(peer: Peer, id: string): Promise<void> {
  const { lines } = await peer.post(message(id, "still here"));
  assert.deepEqual([lines[0]?.event_type, lines[0]?.["in_reply_to"]], ["bb_ack", id], JSON.stringify(lines));
}

/** A server that takes anybody, and hears them. */
async function anybody(t: TestContext) {
  const ears = new Ears();
  const endpoint = new Endpoint<string>({
    begins: "inbox",
    answersLater: () => false,
    name: () => "it",
    onConnection: (open) => void open(ears),
  });
  const server = await listenHttp({}, (path, request, response) => endpoint.handle(path, request, response, "anybody"));
  t.after(async () => {
    await endpoint.close("the test is over");
    await server.close();
  });
  return { endpoint, ears, url: server.url };
}

suite("a client that is hostile, or broken", () => {
  test("that reads nothing is told so and closed with 8 MiB unread; the others do not notice (CON-9)", async (t) => {
    const { hub, url, peer } = await ui(t);
    const token = hub.addToken({ name: "slow", kind: "ui" });
    const slow = Peer.withToken(t, url, token);
    await slow.sync({ kind: "ui" });
    const wire = new Wire(t, url);
    wire.write(
      `GET /stream HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${token}\r\nbytebot-connection: ${slow.connection}\r\n\r\n`,
    );
    await wire.until(/bb_live/);
    wire.socket.pause();
    const gone = (async () => {
      for await (const event of hub.events("*", { types: ["bb_bye"] }))
        if (event["from"] === "slow") return event["reason"];
    })();
    // Its goodbye is on its way from here on, for as long as a peer that stopped reading is waited for.
    const open = Reflect.get(Reflect.get(hub, "hub") as object, "open") as Map<
      string,
      { outlet?: { isClosed: boolean } }
    >;
    const isClosing = () => [...open.values()].some(({ outlet }) => outlet?.isClosed);
    for (let n = 0; n < 100 && !isClosing(); n++) {
      await hub.send("u_1", "x".repeat(900_000));
      await peer.next(({ state }) => state === "idle");
      peer.events.length = 0;
    }
    wire.socket.resume();
    assert.equal(await gone, "slow_consumer");
    await wire.until(/"bb_bye","reason":"slow_consumer"/);
    await works(peer, "m_1");
  });

  test("connecting a thousand times and breaking off leaves nothing", async (t) => {
    const hub = await app(t);
    const url = await hub.serveHttp();
    const token = hub.addToken({ name: "" });
    const sync = `{"event_type":"bb_sync","kind":"ui"}`;
    const requests = [
      `POST /inbox HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${token}\r\n${NDJSON}content-length: ${sync.length}\r\n\r\n${sync}`,
      `POST /inbox HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${token}\r\n${NDJSON}content-length: 1000\r\n\r\n${sync}`,
      `POST /inbox HTTP/1.1\r\nhost: localhost\r\n`,
      `GET /stream HTTP/1.1\r\nhost: localhost\r\n\r\n`,
      "\x16\x03\x01",
    ];
    t.mock.timers.enable({ apis: ["setTimeout"] });
    for (let n = 0; n < 200; n++) {
      await Promise.all(
        requests.map(async (request) => {
          const wire = new Wire(t, url);
          wire.write(request);
          await wire.connected;
          await setImmediate();
          wire.socket.resetAndDestroy();
        }),
      );
    }
    // Those that got as far as bb_sync may still return, for 10 s.
    let left = 1;
    for (let second = 0; second < 60 && left > 0; second++) {
      t.mock.timers.tick(1000);
      for (let turn = 0; turn < 20; turn++) await setImmediate();
      left = (await hub.components()).length;
    }
    t.mock.timers.reset();
    assert.equal(left, 0);
    const peer = Peer.withToken(t, url, token);
    assert.equal((await peer.sync({ kind: "ui" }))["component_id"], "ui");
    await peer.leave();
  });

  test("more connections than a thousand are refused until some have gone (HTP-2)", async (t) => {
    const { endpoint, url } = await anybody(t);
    const first = new Peer(t, url, {});
    await first.post({ event_type: "x" });
    for (let n = 1; n < 1000; n += 111) {
      const more = Array.from({ length: 111 }, () => new Peer(t, url, {}).post({ event_type: "x" }));
      assert.ok((await Promise.all(more)).every(({ status }) => status === 200));
    }
    const late = await new Peer(t, url, {}).post({ event_type: "x" });
    assert.deepEqual([late.status, late.lines[0]?.["code"]], [429, "overloaded"]);
    await first.leave();
    await becomes("one is free", () => endpoint.size < 1000);
    assert.equal((await new Peer(t, url, {}).post({ event_type: "x" })).status, 200);
  });

  test("a body without end or newline costs its limit, and is answered; the link goes on (FRM-5, HTP-4)", async (t) => {
    const { url, peer, own } = await ui(t);
    const size = 200 * 1024 * 1024;
    const wire = new Wire(t, url);
    wire.write(`POST /inbox HTTP/1.1\r\n${own}${NDJSON}content-length: ${size}\r\n\r\n`);
    const part = Buffer.alloc(1024 * 1024, "x");
    const before = process.memoryUsage().rss;
    for (let left = size; left > 0; left -= part.length) {
      if (!wire.socket.write(part)) await new Promise<void>((resolve) => wire.socket.once("drain", () => resolve()));
    }
    await wire.until(/"code":"too_large","message":"a line of 209715200 bytes/);
    const grown = (process.memoryUsage().rss - before) / 1024 / 1024;
    assert.ok(grown < 150, `${grown} MiB`);
    await works(peer, "m_1");
  });

  test("a line of almost 1 MiB is taken, and too many lines in several pieces are answered to the end (HTP-4)", async (t) => {
    const { peer } = await ui(t);
    const large = await peer.post(message("m_1", "x".repeat(1024 * 1024 - 200)));
    assert.equal(large.lines[0]?.["fate"], "started");
    // Without the Hub, which closes who floods it.
    const { url, ears } = await anybody(t);
    const flood = new Peer(t, url, {});
    await flood.post({ event_type: "x" });
    const many = await flood.post(`${JSON.stringify({ event_type: "x", text: "y".repeat(100) })}\n`.repeat(30_000));
    assert.deepEqual([many.status, many.lines.at(-1)?.["code"]], [413, "too_large"]);
    assert.equal(ears.events.length, many.lines.length);
    assert.equal((await flood.post({ event_type: "x" })).status, 200);
  });

  test("more than four requests at once are refused, in order and by name; their order is that of their coming (HTP-4)", async (t) => {
    const { url, peer, own } = await ui(t);
    const slow = new Wire(t, url);
    slow.write(`POST /inbox HTTP/1.1\r\n${own}${NDJSON}content-length: 1000\r\n\r\n`);
    await slow.connected;
    const wires: Wire[] = [];
    for (let n = 0; n < 5; n++) {
      const body = JSON.stringify(message(`m_${n}`, `${n}`));
      const wire = new Wire(t, url);
      wires.push(wire);
      wire.write(`POST /inbox HTTP/1.1\r\n${own}${NDJSON}content-length: ${body.length}\r\n\r\n${body}`);
    }
    const refused = () =>
      wires.filter(({ text }) => text.startsWith("HTTP/1.1 429") && text.includes('"overloaded"')).length;
    await becomes("two are refused", () => refused() === 2);
    slow.socket.resetAndDestroy();
    await becomes("the others are answered", () => wires.filter(({ text }) => text.includes('"bb_ack"')).length === 3);
    assert.equal(refused(), 2);
    await peer.next(({ state }) => state === "idle");
  });

  test("a request that hangs is replaced by its own repetition, and counts no line twice (HTP-8)", async (t) => {
    const { url, peer, own } = await ui(t);
    const lines = [message(undefined, "one"), message(undefined, "two")].map((event) => `${JSON.stringify(event)}\n`);
    const hung = new Wire(t, url);
    hung.write(
      `POST /inbox HTTP/1.1\r\n${own}bytebot-batch: 1\r\n${NDJSON}content-length: ${lines.join("").length}\r\n\r\n${lines[0]}`,
    );
    await peer.next(({ text }) => text === "one");
    const { status, lines: answers } = await peer.post(lines.join(""), { "bytebot-batch": "1" });
    assert.deepEqual([status, answers.length], [200, 2]);
    await hung.ended;
    await peer.next(({ text }) => text === "two");
    assert.deepEqual(
      peer.events.filter(({ event_type }) => event_type === "user_event").map(({ text }) => text),
      ["one", "two"],
    );
  });

  test("a Content-Length that lies, either way, breaks its own request alone (HTP-4)", async (t) => {
    const { url, peer, own } = await ui(t);
    const body = `${JSON.stringify(message("m_1", "short"))}\n`;
    const long = new Wire(t, url);
    long.write(`POST /inbox HTTP/1.1\r\n${own}${NDJSON}content-length: ${body.length + 100}\r\n\r\n${body}`);
    long.socket.end();
    const short = new Wire(t, url);
    short.write(`POST /inbox HTTP/1.1\r\n${own}${NDJSON}content-length: ${body.length - 10}\r\n\r\n${body}`);
    await short.until(/HTTP\/1\.1 400/);
    await peer.next(({ event_type, id }) => event_type === "user_event" && id === "m_1");
    const both = new Wire(t, url);
    both.write(
      `POST /inbox HTTP/1.1\r\n${own}${NDJSON}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
    );
    await both.until(/HTTP\/1\.1 400/);
    await works(peer, "m_2");
  });

  test("requests in one write are answered one by one; a half-closed socket still gets its answer (HTP-4)", async (t) => {
    const { url, own } = await ui(t);
    const wire = new Wire(t, url);
    const posts = [1, 2, 3].map((n) => {
      const body = JSON.stringify(message(`m_${n}`, "x"));
      return `POST /inbox HTTP/1.1\r\n${own}${NDJSON}content-length: ${body.length}\r\n\r\n${body}`;
    });
    wire.write(posts.join(""));
    await wire.until(/m_1[^]*m_2[^]*m_3/);
    const half = new Wire(t, url);
    half.socket.allowHalfOpen = true;
    half.socket.end(posts[0]!.replace("m_1", "m_4"));
    await half.until(/"in_reply_to":"m_4"/);
  });

  test("nothing of a header gets into the stream, or any further than its own refusal (HTP-5, HTP-7)", async (t) => {
    const { url, own } = await ui(t);
    const get = async (headers: string) => {
      const wire = new Wire(t, url);
      wire.write(`GET /stream HTTP/1.1\r\n${own}connection: close\r\n${headers}\r\n`);
      await wire.ended;
      return wire.text;
    };
    assert.match(await get("last-event-id: x:1.0\tdata: {}\r\n"), /^HTTP\/1\.1 404/);
    assert.match(await get("bytebot-received: 1, 2\r\n"), /^HTTP\/1\.1 400[^]*"code":"invalid_params"/);
    assert.match(await get("bytebot-received: -1\r\n"), /^HTTP\/1\.1 400/);
    assert.match(await get("bytebot-received: 99999999999999999999\r\n"), /^HTTP\/1\.1 400/);
    const wire = new Wire(t, url);
    wire.write(`GET //[ HTTP/1.1\r\n${own}connection: close\r\n\r\n`);
    await wire.ended;
    assert.match(wire.text, /^HTTP\/1\.1 400[^]*"code":"invalid_params"/);
  });

  test("events before bb_sync is answered are refused by name where they are too many, each in its place (HTP-2, HTP-4)", async (t) => {
    const { hub, url } = await served(t);
    const peer = Peer.withToken(t, url, hub.addToken({ name: "phone", kind: "ui" }));
    const typing = { event_type: "a/b", scope: "u_1" };
    const { lines } = await peer.post([
      { event_type: "bb_sync", kind: "ui" },
      ...Array<Event>(1500).fill(typing),
      message("m_1", "x"),
    ]);
    assert.equal(lines.length, 1502);
    assert.deepEqual([lines[0]?.event_type, lines[1]?.event_type], ["bb_sync_ack", "bb_ack"]);
    assert.deepEqual(
      [lines[1500]?.["code"], lines[1501]?.["code"], lines[1501]?.["in_reply_to"]],
      ["overloaded", "overloaded", "m_1"],
    );
  });
});
