import assert from "node:assert/strict";
import { suite, test, type TestContext } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { ByteBot } from "../../src/index.ts";
import type { Event } from "../../src/wire/index.ts";
import { message, Peer, served } from "./client.ts";

const isLive = ({ event_type }: Event) => event_type === "bb_live";
const isIdle = ({ state }: Event) => state === "idle";

/** A UI that dialled in and is live, and its Hub. */
async function ui(t: TestContext, headers: Record<string, string> = {}, signal?: AbortSignal) {
  const { hub, url } = await served(t);
  const token = hub.addToken({ name: "phone", kind: "ui", scopes: ["u_1"] });
  const peer = Peer.withToken(t, url, token);
  await peer.sync({ kind: "ui" });
  const response = await peer.open(headers, signal);
  await peer.next(isLive);
  return { hub, url, token, peer, response };
}

suite("the stream", () => {
  test("is text/event-stream where Accept names it: the same lines, with their cursors as ids (HTP-5)", async (t) => {
    const { hub, url, peer, response } = await ui(t, { accept: "text/event-stream" });
    assert.equal(response.headers.get("content-type"), "text/event-stream");
    assert.equal(response.headers.get("cache-control"), "no-cache, no-transform");
    assert.equal(response.headers.get("x-accel-buffering"), "no");
    const other = Peer.withToken(t, url, hub.addToken({ name: "desk", kind: "ui", scopes: ["u_1"] }));
    await other.sync({ kind: "ui" });
    assert.equal((await other.open()).headers.get("content-type"), "application/x-ndjson");
    await other.next(isLive);
    await hub.send("u_1", "ship\u2028 it");
    await Promise.all([peer.next(isIdle), other.next(isIdle)]);
    const own = (events: Event[]) => events.filter(({ scope }) => scope === "u_1");
    assert.deepEqual(own(peer.events), own(other.events));
    for (const event of peer.raw.split("\n\n").filter((text) => text !== "")) {
      const [, id, data] = /^(?:id: (.*)\n)?data: (.*)$/.exec(event) ?? [];
      assert.ok(data !== undefined, event);
      assert.equal((JSON.parse(data) as Event)["cursor"], id);
    }
  });

  test("goes on at a newer GET of it, and the older one ends (HTP-3)", async (t) => {
    const { hub, peer } = await ui(t);
    const first = peer.events.length;
    await peer.open();
    await hub.send("u_1", "ship it");
    await peer.next(isIdle);
    const ids = peer.events.slice(first).flatMap(({ cursor }) => (cursor === undefined ? [] : [cursor]));
    assert.equal(new Set(ids).size, ids.length, "each event came once");
  });

  test("of another's connection is not found, whatever is asked of it (HTP-3)", async (t) => {
    const { hub, url, peer } = await ui(t);
    const thief = Peer.withToken(t, url, hub.addToken({ name: "thief", kind: "ui" }));
    for (const connection of [peer.connection!, "no-such-connection"]) {
      const headers = { "bytebot-connection": connection };
      const { status, lines } = await thief.post(message("m_1", "x"), headers);
      assert.deepEqual([status, lines.map(({ code }) => code)], [404, ["not_found"]]);
      const stream = await thief.open(headers);
      assert.equal(stream.status, 404);
      assert.match(await stream.text(), /"code":"not_found"/);
      thief.connection = connection;
      assert.equal(await thief.leave(), 404);
      thief.connection = undefined;
    }
    assert.equal((await peer.post(message("m_1", "still here"))).status, 200);
  });

  test("is over at once where its peer ends the connection with DELETE (HTP-3)", async (t) => {
    const { hub, peer } = await ui(t);
    const bye = next(hub, "bb_bye");
    assert.equal(await peer.leave(), 200);
    assert.equal((await bye)["from"], "phone");
    assert.equal((await peer.post(message("m_1", "x"))).status, 404);
  });

  test("of a peer that does not return for 10 s is given up: its calls are lost; until then they wait for it (HTP-6)", async (t) => {
    const { hub, url } = await served(t);
    const peer = Peer.withToken(t, url, hub.addToken({ name: "tools", kind: "toolsource" }));
    await peer.sync({ kind: "toolsource" });
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const cut = new AbortController();
    await peer.open({}, cut.signal);
    await peer.post({ event_type: "bb_tool_register", id: "g_1", tools: [{ name: "slow", input_schema: {} }] });
    await peer.next(({ event_type }) => event_type === "bb_tool_register_result");
    const lost = hub.callTool("u_1", "slow", {});
    await peer.next(({ event_type }) => event_type === "bb_tool_call_request");
    cut.abort();
    const ended = lost.then((result) => result);
    let seconds = 0;
    for (let over = false; !over;) {
      over = await Promise.race([ended.then(() => true), setImmediate(false)]);
      if (!over) t.mock.timers.tick(1000);
      seconds++;
      assert.ok(seconds < 100, "it is not given up");
    }
    assert.ok(seconds >= 10, `it was given up after ${seconds} s`);
    t.mock.timers.reset();
    const result = await lost;
    assert.deepEqual([result.success, result.status, result.error?.code], [false, "lost", "unavailable"]);
    assert.equal((await peer.post({ event_type: "bb_ping" })).status, 404);
  });

  test("goes on after exactly as many events as its peer says it has, also some that it had got (HTP-7)", async (t) => {
    const cut = new AbortController();
    const { hub, peer } = await ui(t, { "bytebot-received": "0" }, cut.signal);
    await hub.send("u_1", "ship it");
    await peer.next(isIdle);
    const seen = [...peer.events];
    cut.abort();
    peer.events.splice(3);
    await peer.open({ "bytebot-received": "3" });
    await peer.next(isIdle);
    assert.deepEqual(peer.events, seen);
    for (const received of ["2", "1000"]) {
      const gone = await peer.open({ "bytebot-received": received });
      assert.equal(gone.status, 404, `what comes after ${received} is not there`);
      assert.match(await gone.text(), /"code":"not_found"/);
    }
    await peer.leave();
  });

  test("goes on after the event with the cursor that Last-Event-ID names; an unknown one is not taken for nothing missed (HTP-7)", async (t) => {
    const cut = new AbortController();
    const { hub, peer } = await ui(t, { accept: "text/event-stream" }, cut.signal);
    await hub.send("u_1", "ship it");
    await peer.next(isIdle);
    const seen = [...peer.events];
    cut.abort();
    const at = seen.findIndex(({ cursor }) => cursor !== undefined);
    peer.events.splice(at + 1);
    await peer.open({ accept: "text/event-stream", "last-event-id": String(seen[at]!["cursor"]) });
    await peer.next(isIdle);
    assert.deepEqual(peer.events, seen);
    const gone = await peer.open({ "last-event-id": "no-such-log:1.0" });
    assert.equal(gone.status, 404);
  });

  test("without a count goes on with what was not written yet (HTP-7)", async (t) => {
    const cut = new AbortController();
    const { hub, peer } = await ui(t, {}, cut.signal);
    await hub.send("u_1", "one");
    await peer.next(isIdle);
    cut.abort();
    peer.events.length = 0;
    await peer.open();
    await hub.send("u_1", "two");
    await peer.next(isIdle);
    assert.ok(!JSON.stringify(peer.events).includes('"one"'));
  });

  for (const [accept, beat] of [
    ["application/x-ndjson", "\n"],
    ["text/event-stream", ":\n\n"],
  ] as const) {
    test(`that has nothing to say says so every 15 s, ${accept} (HTP-9)`, async (t) => {
      t.mock.timers.enable({ apis: ["setInterval"] });
      const { peer } = await ui(t, { accept });
      const before = peer.raw.length;
      t.mock.timers.tick(14_999);
      await setImmediate();
      assert.equal(peer.raw.length, before);
      t.mock.timers.tick(1);
      await peer.until(() => (peer.raw.length > before ? true : undefined));
      t.mock.timers.tick(15_000);
      await peer.until(() => (peer.raw.slice(before) === beat + beat ? true : undefined));
    });
  }
});

suite("peers that acknowledge by name", () => {
  test("get an acknowledgement for each event that has one, and again what they did not acknowledge (HTP-10)", async (t) => {
    const { hub, url } = await served(t);
    const peer = Peer.withToken(t, url, hub.addToken({ name: "phone", kind: "ui", scopes: ["u_1"] }));
    await peer.sync({ kind: "ui", capabilities: { acks: {} } });
    const cut = new AbortController();
    await peer.open({}, cut.signal);
    await peer.next(isLive);
    await hub.send("u_1", "one", { id: "m_1" });
    await hub.send("u_1", "two", { id: "m_2" });
    await peer.until(() => (peer.events.at(-1)?.["state"] === "idle" && has(peer, "m_2") ? true : undefined));
    const { lines } = await peer.post([
      { event_type: "bb_ack", in_reply_to: "m_1" },
      { event_type: "bb_history_request", id: "h_1", scope: "u_1", limit: 1 },
      { event_type: "bb_ping", id: "p_1" },
    ]);
    assert.deepEqual(
      lines.map(({ event_type, in_reply_to }) => [event_type, in_reply_to]),
      [
        ["bb_ack", undefined],
        ["bb_ack", "h_1"],
        ["bb_ack", undefined],
      ],
    );
    await peer.next(({ event_type }) => event_type === "bb_history_result");
    cut.abort();
    peer.events.length = 0;
    await peer.open();
    await hub.send("u_1", "three", { id: "m_3" });
    await peer.next(({ id }) => id === "m_3");
    const names = peer.events.map(({ event_type, id, in_reply_to }) => `${event_type} ${String(id ?? in_reply_to)}`);
    assert.deepEqual(names.slice(0, 3), ["user_event m_2", "bb_history_result h_1", "user_event m_3"]);
  });
});

function has(peer: Peer, id: string): boolean {
  return peer.events.some((event) => event["id"] === id);
}

async function next(hub: ByteBot, type: string): Promise<Event> {
  for await (const event of hub.events("*", { types: [type] })) return event;
  throw new Error("the app has ended");
}
