import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { Grant } from "../../src/app/credentials.ts";
import { ByteBot } from "../../src/index.ts";
import type { Event } from "../../src/wire/index.ts";
import { ask, message, Peer, served } from "./client.ts";

const NDJSON = "application/x-ndjson";
const SYNC = `{"event_type":"bb_sync","kind":"ui"}`;
const isLive = ({ event_type }: Event) => event_type === "bb_live";

/** How a bb_sync with these headers is answered. */
async function syncs(url: string, headers: Record<string, string>) {
  const {
    status,
    lines,
    headers: back,
  } = await ask(`${url}/inbox`, {
    method: "POST",
    headers: { "content-type": NDJSON, ...headers },
    body: SYNC,
  });
  assert.equal(lines.length, 1, "the body is a line, also of a refusal");
  return { status, code: lines[0]!["code"], type: lines[0]!.event_type, headers: back };
}

suite("tokens", () => {
  test("a bearer who begins connections and says nothing in them takes no room from the others (HTP-2)", async (t) => {
    const { hub, url } = await served(t);
    const begin = { "content-type": NDJSON, authorization: `Bearer ${hub.addToken({ name: "", kind: "ui" })}` };
    const silent = await Promise.all(
      Array.from({ length: 40 }, () => ask(`${url}/inbox`, { method: "POST", headers: begin, body: "{}" })),
    );
    const refused = silent.filter(({ status }) => status === 429);
    assert.deepEqual([refused.length, refused[0]?.lines[0]?.["code"]], [8, "overloaded"]);
    assert.equal(refused[0]?.headers["retry-after"], "2");
    const other = `Bearer ${hub.addToken({ name: "phone", kind: "ui" })}`;
    assert.equal((await syncs(url, { authorization: other })).type, "bb_sync_ack");
  });

  test("who has none, a wrong one, or one outside of Authorization is refused, on loopback too (HTP-11)", async (t) => {
    const { hub, url } = await served(t);
    const token = hub.addToken({ name: "phone", kind: "ui" });
    for (const headers of [
      {},
      { authorization: "Bearer wrong" },
      { authorization: `Basic ${token}` },
      { authorization: `Bearer ${token}x` },
      { authorization: `Bearer ${token}, Bearer ${token}` },
      { cookie: `bytebot=${token}` },
    ] as Record<string, string>[]) {
      const { status, code, headers: back } = await syncs(url, headers);
      assert.deepEqual(
        [status, code, back["www-authenticate"]],
        [401, "unauthorized", "Bearer"],
        JSON.stringify(headers),
      );
    }
    const query = await ask(`${url}/inbox?token=${token}&access_token=${token}`, {
      method: "POST",
      headers: { "content-type": NDJSON },
      body: SYNC,
    });
    assert.equal(query.status, 401);
    assert.equal((await syncs(url, { authorization: `Bearer ${token}` })).type, "bb_sync_ack");
  });

  test("after 20 wrong ones within a minute an address is slowed and the app told once; the right one still opens (HTP-11)", async (t) => {
    const told: string[] = [];
    t.mock.timers.enable({ apis: ["Date"], now: Date.now() });
    const { hub, url } = await served(t, { report: (line) => told.push(line) });
    const token = hub.addToken({ name: "phone", kind: "ui" });
    const wrong = { authorization: "Bearer wrong" };
    for (let n = 0; n < 20; n++) assert.equal((await syncs(url, wrong)).status, 401);
    for (let n = 0; n < 3; n++) {
      const { status, code, headers } = await syncs(url, wrong);
      assert.deepEqual([status, code], [429, "overloaded"]);
      assert.ok(Number(headers["retry-after"]) > 0);
    }
    assert.deepEqual(told, ["127.0.0.1 has sent 21 wrong tokens within a minute"]);
    assert.equal((await syncs(url, { authorization: `Bearer ${token}` })).status, 200);
    t.mock.timers.tick(60_001);
    assert.equal((await syncs(url, wrong)).status, 401);
  });

  test("the newest connection of a token takes the place of the one before, under the same id (HTP-11)", async (t) => {
    const { hub, url } = await served(t);
    const token = hub.addToken({ name: "phone", kind: "ui" });
    const first = Peer.withToken(t, url, token);
    await first.sync({ kind: "ui" });
    await first.open();
    await first.next(isLive);
    const second = Peer.withToken(t, url, token);
    const ack = await second.sync({ kind: "ui" });
    assert.deepEqual([ack["component_id"], ack["primary"]], ["phone", true]);
    assert.match(String((await first.next(({ event_type }) => event_type === "bb_bye"))["reason"]), /connected again/);
    assert.equal((await first.post(message("m_1", "x"))).status, 404);
    assert.deepEqual(
      (await hub.components()).filter(({ kind }) => kind === "ui").map(({ component_id }) => component_id),
      ["phone"],
    );
  });

  test("one for many lets each in under a name of its own, and forgets it when it leaves (HTP-11)", async (t) => {
    const { hub, url } = await served(t);
    const token = hub.addToken({ name: "" });
    const names: unknown[] = [];
    const peers: Peer[] = [];
    for (const name of ["web", "web", "app", "../etc", undefined]) {
      const peer = Peer.withToken(t, url, token);
      names.push((await peer.sync({ kind: "ui", name }))["component_id"]);
      peers.push(peer);
    }
    assert.deepEqual(names, ["web", "web-2", "app-2", "ui", "ui-2"]);
    await Promise.all(peers.map((peer) => peer.leave()));
    const again = Peer.withToken(t, url, token);
    assert.equal((await again.sync({ kind: "ui", name: "web" }))["component_id"], "web");
  });

  test("one that was taken back ends its connection and opens nothing more (HTP-11)", async (t) => {
    const { hub, url } = await served(t);
    const token = hub.addToken({ name: "phone", kind: "ui" });
    const peer = Peer.withToken(t, url, token);
    await peer.sync({ kind: "ui" });
    await peer.open();
    await hub.removeToken(token);
    assert.match(String((await peer.next(({ event_type }) => event_type === "bb_bye"))["reason"]), /taken back/);
    assert.equal((await syncs(url, { authorization: `Bearer ${token}` })).status, 401);
  });

  test("what a token grants, its bearer's bb_sync cannot widen (HTP-11, CON-3)", async (t) => {
    const { hub, url } = await served(t);
    const refused = async (grant: Partial<Grant>, sync: object) => {
      const peer = Peer.withToken(t, url, hub.addToken({ name: "guest", ...grant }));
      return (await peer.post({ event_type: "bb_sync", ...sync })).lines[0]?.["code"];
    };
    assert.equal(await refused({ kind: "ui" }, { kind: "context" }), "forbidden");
    assert.equal(await refused({ scopes: ["u_1"] }, { kind: "ui", scopes: ["u_2"] }), "not_found");
    const peer = Peer.withToken(t, url, hub.addToken({ name: "guest" }));
    assert.equal((await peer.sync({ kind: "ui", controller: true }))["controller"], false);
    // The turn below needs no context: nobody became one.
    await hub.send("u_1", "ship it");
    await peer.open();
    await peer.next(({ kind, stop_reason }) => kind === "loop_done" && stop_reason === "end_turn");
  });
});

suite("web pages and other names", () => {
  test("a request for another host, or from another origin, is refused; the server's own and one it was told of are taken (HTP-12)", async (t) => {
    const { hub } = await served(t);
    const url = await hub.serveHttp({ origins: ["https://app.example"] });
    const { port } = new URL(url);
    const authorization = `Bearer ${hub.addToken({ name: "" })}`;
    const status = async (headers: Record<string, string>) => {
      const { status, code, headers: back } = await syncs(url, { authorization, ...headers });
      assert.ok(!Object.keys(back).some((name) => name.startsWith("access-control-")), "no CORS header");
      assert.equal(code, status === 403 ? "forbidden" : undefined);
      return status;
    };
    for (const host of [
      "evil.example",
      `evil.example:${port}`,
      "localhost.evil.example",
      "127.0.0.1.evil.example",
      "10.0.0.1",
      "[::2]",
      "0.0.0.0",
    ])
      assert.equal(await status({ host }), 403, host);
    for (const host of ["localhost", `localhost:${port}`, "127.0.0.1", "[::1]", `[::1]:${port}`, "LOCALHOST"])
      assert.equal(await status({ host }), 200, host);
    for (const origin of [
      "https://evil.example",
      "null",
      `http://127.0.0.1:${Number(port) + 1}`,
      `http://localhost:${port}`,
      "https://app.example.evil.example",
      "file://",
    ])
      assert.equal(await status({ origin }), 403, origin);
    for (const origin of [`http://127.0.0.1:${port}`, "https://app.example"])
      assert.equal(await status({ origin }), 200, origin);
    for (const site of ["cross-site", "same-site"]) assert.equal(await status({ "sec-fetch-site": site }), 403, site);
    for (const site of ["same-origin", "none"]) assert.equal(await status({ "sec-fetch-site": site }), 200, site);
    const preflight = await ask(`${url}/inbox`, {
      method: "OPTIONS",
      headers: { authorization, origin: "https://evil.example" },
    });
    assert.equal(preflight.status, 403);
  });

  test("a server that others reach answers to the names it was given alone (HTP-12)", async (t) => {
    const { hub } = await served(t);
    const url = (await hub.serveHttp({ host: "0.0.0.0", hosts: ["hub.example", "hub.example:8443"] })).replace(
      "0.0.0.0",
      "127.0.0.1",
    );
    const authorization = `Bearer ${hub.addToken({ name: "" })}`;
    assert.equal((await syncs(url, { authorization, host: "127.0.0.1" })).status, 403);
    for (const host of ["hub.example", "hub.example:8443", "HUB.example:1"])
      assert.equal((await syncs(url, { authorization, host })).status, 200);
  });
});

suite("browsers", () => {
  const post = (url: string, body: string, headers: Record<string, string> = {}) =>
    ask(`${url}/browser/session`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body,
    });

  async function session(url: string, code: string): Promise<string> {
    const { status, headers } = await post(url, JSON.stringify({ code }));
    assert.equal(status, 204);
    const [cookie] = headers["set-cookie"]!;
    assert.match(cookie!, /^bytebot=[\w-]{43}; HttpOnly; SameSite=Strict; Path=\/browser; Max-Age=43200$/);
    return cookie!.split(";")[0]!;
  }

  test("a code becomes a cookie, which opens /browser/stream and /browser/inbox; an EventSource names its connection in the query (HTP-13, ENV-3)", async (t) => {
    const { hub, url } = await served(t);
    const cookie = await session(url, hub.addCode({ name: "page", kind: "ui", scopes: ["u_1"] }));
    const page = new Peer(t, `${url}/browser`, { cookie });
    const ack = await page.sync({ kind: "ui" });
    assert.match(String(ack["component_id"]), /^page-[0-9a-f]{8}$/, "that says nothing of how many others there are");
    assert.deepEqual(ack["scopes"], ["u_1"]);
    const events = new Peer(t, `${url}/browser`, { cookie, accept: "text/event-stream" });
    assert.equal((await events.open({}, undefined, `?connection=${page.connection}`)).status, 200);
    await events.next(isLive);
    assert.equal((await page.post(message("m_1", "ship it"))).lines[0]?.["fate"], "started");
    await events.next(({ state }) => state === "idle");
    // A second tab of the same session is a component of its own.
    const tab = new Peer(t, `${url}/browser`, { cookie });
    assert.notEqual((await tab.sync({ kind: "ui" }))["component_id"], ack["component_id"]);
    assert.equal((await tab.post(message("m_2", "and this"))).lines[0]?.["fate"], "started");
    // What was sent before the connection was lost is the same after it, and runs once (ENV-3).
    const back = new Peer(t, `${url}/browser`, { cookie });
    await back.sync({ kind: "ui" });
    const [first] = (await page.post(message("m_1", "ship it"))).lines;
    const again = await back.post([message("m_1", "ship it"), message("m_1", "another text")]);
    assert.equal(typeof first?.["seq"], "number");
    assert.equal(again.lines[0]?.["seq"], first?.["seq"]);
    assert.notEqual(again.lines[1]?.["seq"], first?.["seq"]);
    assert.match(String(again.lines[1]?.["fate"]), /started|queued/);
  });

  test("a session that the app takes back ends at once: its streams, its cookie, and no other's (HTP-13)", async (t) => {
    const { hub, url } = await served(t);
    const [code, other] = [hub.addCode({ name: "page", kind: "ui" }), hub.addCode({ name: "page", kind: "ui" })];
    const cookies = [await session(url, code), await session(url, other)];
    const [page, tab, stays] = await Promise.all(
      [cookies[0]!, cookies[0]!, cookies[1]!].map(async (cookie) => {
        const peer = new Peer(t, `${url}/browser`, { cookie });
        await peer.sync({ kind: "ui" });
        await peer.open();
        await peer.next(isLive);
        return peer;
      }),
    );
    await hub.removeCode(code);
    for (const peer of [page!, tab!]) {
      const bye = await peer.next(({ event_type }) => event_type === "bb_bye");
      assert.equal(bye["reason"], "its session was taken back");
      assert.equal((await peer.post(message("m_1", "still here?"))).status, 401);
    }
    assert.equal((await syncs(`${url}/browser`, { cookie: cookies[0]! })).status, 401);
    assert.equal((await stays!.post(message("m_2", "still here?"))).lines[0]?.["fate"], "started");
    const unused = hub.addCode({ name: "page" });
    await hub.removeCode(unused);
    assert.equal((await post(url, JSON.stringify({ code: unused }))).status, 401);
  });

  test("a cookie opens nothing for satellites, a token nothing for browsers, and a query names no satellite's connection (HTP-13)", async (t) => {
    const { hub, url } = await served(t);
    const cookie = await session(url, hub.addCode({ name: "page", kind: "ui" }));
    const token = hub.addToken({ name: "phone", kind: "ui" });
    assert.equal((await syncs(url, { cookie })).status, 401);
    assert.equal((await syncs(`${url}/browser`, { authorization: `Bearer ${token}` })).status, 401);
    assert.equal((await syncs(`${url}/browser`, { cookie: "bytebot=wrong" })).status, 401);
    const peer = Peer.withToken(t, url, token);
    await peer.sync({ kind: "ui" });
    const { connection } = peer;
    peer.connection = undefined;
    assert.equal((await peer.open({}, undefined, `?connection=${connection}`)).status, 404);
  });

  test("a code is good once, for a minute, and a session for 12 hours (HTP-13)", async (t) => {
    t.mock.timers.enable({ apis: ["Date"], now: Date.now() });
    const { hub, url } = await served(t);
    const refused = async (code: string) => {
      const { status, lines } = await post(url, JSON.stringify({ code }));
      assert.deepEqual([status, lines[0]?.["code"]], [401, "unauthorized"]);
    };
    const [used, late, right] = [
      hub.addCode({ name: "page" }),
      hub.addCode({ name: "page" }),
      hub.addCode({ name: "page" }),
    ];
    await session(url, used);
    await refused(used);
    await refused("wrong");
    t.mock.timers.tick(59_000);
    const cookie = await session(url, right);
    t.mock.timers.tick(1001);
    await refused(late);
    t.mock.timers.tick(12 * 60 * 60_000 - 2000);
    assert.equal((await syncs(`${url}/browser`, { cookie })).status, 200);
    t.mock.timers.tick(2000);
    assert.equal((await syncs(`${url}/browser`, { cookie })).status, 401);
  });

  test("what is no code in JSON is refused by name (HTP-13)", async (t) => {
    const { url } = await served(t);
    const answers = [
      await post(url, "{}"),
      await post(url, "null"),
      await post(url, "{"),
      await post(url, `{"code":"${"x".repeat(5000)}"}`),
      await post(url, `{"code":"x"}`, { "content-type": "text/plain" }),
      await ask(`${url}/browser/session`),
      await ask(`${url}/browser/elsewhere`),
    ];
    assert.deepEqual(
      answers.map(({ status, lines }) => `${status} ${String(lines[0]?.["code"])}`),
      [
        "401 unauthorized",
        "401 unauthorized",
        "400 parse_error",
        "413 too_large",
        "415 invalid_params",
        "405 invalid_params",
        "404 not_found",
      ],
    );
  });
});

suite("an app that others reach", () => {
  test("says that HTTP is not encrypted, unless it is behind https; a port in use is named (HTP-11)", async (t) => {
    const told: string[] = [];
    const { hub, url } = await served(t, { report: (line) => told.push(line) });
    await hub.serveHttp({ host: "0.0.0.0", https: true });
    assert.deepEqual(told, []);
    await hub.serveHttp({ host: "0.0.0.0" });
    assert.match(told.join(), /0\.0\.0\.0 is reachable from other machines, and HTTP is not encrypted: put TLS/);
    const port = Number(new URL(url).port);
    await assert.rejects(hub.serveHttp({ port }), { code: "conflict", message: /in use: choose another/ });
  });

  test("which has stopped serves nothing any more (HTP-2)", async (t) => {
    const { hub, url } = await served(t);
    const peer = Peer.withToken(t, url, hub.addToken({ name: "phone", kind: "ui" }));
    await peer.sync({ kind: "ui" });
    await hub.stop();
    await assert.rejects(peer.post(message("m_1", "x")));
    await assert.rejects(hub.serveHttp(), { code: "unavailable" });
    const never = new ByteBot({ report: () => undefined });
    const early = await never.serveHttp();
    await never.stop();
    await assert.rejects(ask(early));
  });
});
