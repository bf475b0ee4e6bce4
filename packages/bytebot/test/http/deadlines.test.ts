import assert from "node:assert/strict";
import { suite, test, type TestContext } from "node:test";
import { setImmediate } from "node:timers/promises";
import { MemoryLog, type Place } from "../../src/log/index.ts";
import { message, Peer, served } from "./client.ts";

/** Seconds go by until `over`, sockets doing what they do; how many. */
async function pass(
  t: TestContext,
  seconds: number,
  over: () => boolean | Promise<boolean> = () => false,
): Promise<number> {
  let passed = 0;
  for (; passed < seconds && !(await over()); passed++) {
    t.mock.timers.tick(1000);
    for (let turn = 0; turn < 20; turn++) await setImmediate();
  }
  return passed;
}

suite("what a connection may take", () => {
  test("two seconds for its bb_sync, ten for its stream; then it is closed (HTP-2)", async (t) => {
    const { hub, url } = await served(t);
    const token = hub.addToken({ name: "phone", kind: "ui" });
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const mute = Peer.withToken(t, url, token);
    const { status, lines } = await mute.post({ event_type: "bb_pong" });
    assert.deepEqual([status, lines[0]?.["code"]], [200, "not_synced"]);
    const away = Peer.withToken(t, url, hub.addToken({ name: "desk", kind: "ui" }));
    await away.sync({ kind: "ui" });
    const gone = async (peer: Peer) => (await peer.post({ event_type: "bb_pong" })).status === 404;
    const there = async () => (await hub.components()).some(({ component_id }) => component_id === "desk");
    const passed = await pass(t, 9);
    assert.equal(passed, 9);
    assert.equal(await gone(mute), true);
    assert.equal(await there(), true);
    await pass(t, 3);
    assert.equal(await there(), false);
    assert.equal(await gone(away), true);
    t.mock.timers.reset();
  });

  test("as long as it returns within ten seconds it is the same one, with all that happened meanwhile (HTP-6)", async (t) => {
    const { hub, url } = await served(t);
    const peer = Peer.withToken(t, url, hub.addToken({ name: "phone", kind: "ui", scopes: ["u_1"] }));
    t.mock.timers.enable({ apis: ["setTimeout"] });
    await peer.sync({ kind: "ui" });
    for (const id of ["m_1", "m_2", "m_3"]) {
      const cut = new AbortController();
      await peer.open({ "bytebot-received": `${peer.events.length}` }, cut.signal);
      await peer.next(({ event_type }) => event_type === "bb_live");
      cut.abort();
      await hub.send("u_1", id, { id });
      await pass(t, 9);
    }
    await peer.open({ "bytebot-received": `${peer.events.length}` });
    await peer.next((event) => event["id"] === "m_3");
    const said = peer.events.flatMap(({ event_type, id }) => (event_type === "user_event" ? [id] : []));
    assert.deepEqual(said, ["m_1", "m_2", "m_3"]);
    t.mock.timers.reset();
    await peer.leave();
  });

  test("an answer that takes longer than 25 s is a timeout in the inbox, and comes on the stream (HTP-4)", async (t) => {
    const gate = Promise.withResolvers<void>();
    class Slow extends MemoryLog {
      override async append(...entry: Parameters<MemoryLog["append"]>): Promise<Place> {
        await gate.promise;
        return super.append(...entry);
      }
    }
    const { hub, url } = await served(t, { log: new Slow() });
    const peer = Peer.withToken(t, url, hub.addToken({ name: "phone", kind: "ui", scopes: ["u_1"] }));
    await peer.sync({ kind: "ui" });
    await peer.open();
    await peer.next(({ event_type }) => event_type === "bb_live");
    t.mock.timers.enable({ apis: ["setTimeout"] });
    let answered = false;
    const posting = peer.post([message("m_1", "x"), { event_type: "bb_pong" }]).finally(() => (answered = true));
    const passed = await pass(t, 29, () => answered);
    const { lines } = await posting;
    t.mock.timers.reset();
    assert.ok(passed >= 25, `after ${passed} s`);
    assert.deepEqual(
      lines.map(({ event_type, code, in_reply_to, retryable }) => [event_type, code, in_reply_to, retryable]),
      [
        ["bb_error", "timeout", "m_1", true],
        ["bb_ack", undefined, undefined, undefined],
      ],
    );
    gate.resolve();
    const ack = await peer.next(({ event_type }) => event_type === "bb_ack");
    assert.deepEqual([ack["in_reply_to"], ack["fate"]], ["m_1", "started"]);
  });
});

suite("a context that dials in", () => {
  test("is expected back from then on; without it turns end, until its token is taken back (HTP-2)", async (t) => {
    const { hub, url } = await served(t);
    const token = hub.addToken({ name: "context", kind: "context" });
    const ends = async (id: string): Promise<unknown> => {
      const events = hub.events("u_1", { types: ["infer_chunk"] });
      await hub.send("u_1", "x", { id });
      for await (const { kind, stop_reason } of events) if (kind === "loop_done") return stop_reason;
      throw new Error("the app has ended");
    };
    assert.equal(await ends("m_1"), "end_turn");
    const peer = Peer.withToken(t, url, token);
    await peer.sync({ kind: "context" });
    await peer.leave();
    assert.equal(await ends("m_2"), "error");
    await hub.removeToken(token);
    assert.equal(await ends("m_3"), "end_turn");
  });
});
