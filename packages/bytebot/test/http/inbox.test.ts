import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { message, Peer, served } from "./client.ts";

suite("a satellite that dials the Hub", () => {
  test("posts bb_sync, gets its connection, then the Hub's events on the stream (HTP-2)", async (t) => {
    const { hub, url } = await served(t);
    const peer = Peer.withToken(t, url, hub.addToken({ name: "phone", kind: "ui", scopes: ["u_1"] }));
    const ack = await peer.sync({ kind: "ui" });
    assert.deepEqual([ack["component_id"], ack["scopes"]], ["phone", ["u_1"]]);
    const response = await peer.open();
    assert.equal(response.headers.get("content-type"), "application/x-ndjson");
    assert.equal(response.headers.get("cache-control"), "no-cache, no-transform");
    assert.equal(response.headers.get("x-accel-buffering"), "no");
    await peer.next(({ event_type }) => event_type === "bb_live");
    await peer.post(message("m_1", "ship it"));
    await peer.next(({ state }) => state === "idle");
    const text = peer.events.flatMap(({ delta }) => (typeof delta === "string" ? [delta] : [])).join("");
    assert.equal(text, "ship it");
    assert.ok(!peer.events.some(({ event_type }) => event_type === "bb_sync_ack" || event_type === "bb_ack"));
  });

  test("a bb_sync that is refused is answered with the reason, and its connection is gone (HTP-2)", async (t) => {
    const { hub, url } = await served(t);
    const peer = Peer.withToken(t, url, hub.addToken({ name: "phone", kind: "ui" }));
    const { status, lines } = await peer.post({ event_type: "bb_sync", kind: "infer" });
    assert.deepEqual([status, lines.map(({ code }) => code)], [200, ["forbidden"]]);
    const { status: after, lines: refused } = await peer.post(message("m_1", "x"));
    assert.deepEqual([after, refused[0]?.["code"]], [404, "not_found"]);
  });

  test("each line is answered in its place: accepted, refused, no event, without a name (HTP-4)", async (t) => {
    const { hub, url } = await served(t);
    const peer = Peer.withToken(t, url, hub.addToken({ name: "phone", kind: "ui", scopes: ["u_1"] }));
    await peer.sync({ kind: "ui" });
    await peer.open();
    const lines = [
      JSON.stringify(message("m_1", "one")),
      "",
      "what is this?",
      JSON.stringify({ ...message("m_2", "two"), scope: "u_2" }),
      JSON.stringify({ event_type: "bb_tool_call_result", call_id: "c_1", success: true }),
      JSON.stringify({ event_type: "com.example/typing", scope: "u_1" }),
      `${JSON.stringify(message("m_3", "three"))}\r`,
      JSON.stringify({ event_type: "bb_history_request", id: "h_1", scope: "u_1" }),
      JSON.stringify({ event_type: "interrupt", id: "s_1", scope: "u_1" }),
    ];
    const { status, lines: answers } = await peer.post(lines.join("\n"));
    assert.equal(status, 200);
    assert.deepEqual(
      answers.map(({ event_type, in_reply_to, code, fate }) =>
        [event_type, in_reply_to, code, fate].filter((part) => typeof part === "string").join(" "),
      ),
      [
        "bb_ack m_1 started",
        "bb_error parse_error",
        "bb_error m_2 not_found",
        "bb_error c_1 forbidden",
        "bb_ack",
        "bb_ack m_3 queued",
        "bb_ack h_1",
        "bb_ack s_1",
      ],
    );
    assert.ok(Number.isInteger(answers[0]!["seq"]), "the acknowledgement means that it is in the log");
    await peer.next(({ event_type }) => event_type === "bb_history_result");
  });

  test("the same request again, under the same number, is answered the same and not done again; an older one is refused (HTP-8)", async (t) => {
    const { hub, url } = await served(t);
    const peer = Peer.withToken(t, url, hub.addToken({ name: "phone", kind: "ui", scopes: ["u_1"] }));
    await peer.sync({ kind: "ui" });
    await peer.open();
    // Without an id the Hub could not know that it is the same.
    const first = await peer.post([message(undefined, "one"), message("m_2", "two")], { "bytebot-batch": "1" });
    const again = await peer.post([message(undefined, "one"), message("m_2", "two")], { "bytebot-batch": "1" });
    assert.deepEqual(again.lines, first.lines);
    await peer.post(message("m_3", "three"), { "bytebot-batch": "2" });
    const late = await peer.post(message(undefined, "one"), { "bytebot-batch": "1" });
    assert.deepEqual([late.status, late.lines[0]?.["code"]], [409, "conflict"]);
    await peer.next((event) => event["id"] === "m_3" && event.event_type === "user_event");
    const said = peer.events.flatMap(({ event_type, text }) => (event_type === "user_event" ? [text] : []));
    assert.deepEqual(said, ["one", "two", "three"]);
  });

  test("a request of the wrong form is refused by name, and the connection goes on (HTP-4)", async (t) => {
    const { hub, url } = await served(t);
    const token = hub.addToken({ name: "phone", kind: "ui", scopes: ["u_1"] });
    const peer = Peer.withToken(t, url, token);
    await peer.sync({ kind: "ui" });
    await peer.open();
    const refused = async (headers: Record<string, string>) => {
      const { status, lines } = await peer.post(message("m_0", "x"), headers);
      return [status, lines[0]?.["code"]];
    };
    assert.deepEqual(await refused({ "content-type": "text/plain" }), [415, "invalid_params"]);
    assert.deepEqual(await refused({ "content-encoding": "gzip" }), [415, "invalid_params"]);
    assert.deepEqual(await refused({ "bytebot-batch": "one" }), [400, "invalid_params"]);
    assert.deepEqual(await refused({ "bytebot-connection": "no such" }), [400, "invalid_params"]);
    assert.deepEqual(await refused({ "bytebot-connection": "another" }), [404, "not_found"]);
    const many = await peer.post(Array(10_002).fill({ event_type: "com.example/typing", scope: "u_1" }));
    assert.deepEqual([many.status, many.lines.at(-1)?.["code"]], [413, "too_large"]);
    for (const [method, path] of [
      ["PUT", "/inbox"],
      ["POST", "/stream"],
    ]) {
      const { status } = await fetch(`${url}${path}`, {
        method: method!,
        headers: { authorization: `Bearer ${token}` },
      });
      assert.equal(status, 405);
    }
  });
});
