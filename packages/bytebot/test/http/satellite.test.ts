import assert from "node:assert/strict";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite, test, type TestContext } from "node:test";
import { setImmediate } from "node:timers/promises";
import { z } from "zod";
import type { ByteBot } from "../../src/index.ts";
import * as bb from "../../src/sdk/index.ts";
import { Endpoint, listenHttp, type Link } from "../../src/transport/index.ts";
import type { Event } from "../../src/wire/index.ts";
import { Ears } from "../transport/ears.ts";
import { app, ask, Peer, repeats, served } from "./client.ts";

async function serve(t: TestContext, options: bb.ServeHttpOptions = {}, main: bb.Main = repeats): Promise<bb.Serving> {
  const serving = await bb.serveHttp(main, options);
  t.after(() => serving.close());
  return serving;
}

const tool =
  (run: () => string): bb.Main =>
  async () => {
    const satellite = await bb.sync({ kind: "toolsource" });
    satellite.tool(bb.defineTool({ name: "work", input: z.object({}), run }));
    await satellite.start();
  };

const call = (hub: ByteBot) => hub.callTool("u_1", "work", {});
const allow = [{ tool: "*", decision: "allow" as const }];

suite("a satellite that serves", () => {
  test("answers the Hub's GET with a stream that begins with its bb_sync, and each line of its POSTs (HTP-1)", async (t) => {
    const { url } = await serve(t);
    const hub = new Peer(t, url, {});
    hub.connection = "k1";
    const stream = await hub.open();
    assert.deepEqual([stream.status, stream.headers.get("bytebot-connection")], [200, "k1"]);
    await hub.next(({ event_type }) => event_type === "bb_sync");
    assert.equal(hub.events.length, 1);
    const { status, lines } = await hub.post(`{"event_type":"bb_ping","id":"p_1"}\n\nnoise\n`);
    assert.deepEqual(
      [status, ...lines.map(({ event_type, code }) => code ?? event_type)],
      [200, "bb_ack", "parse_error"],
    );
    await hub.next(({ event_type, in_reply_to }) => event_type === "bb_pong" && in_reply_to === "p_1");
    const stranger = await ask(`${url}/inbox`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{}",
    });
    assert.deepEqual([stranger.status, stranger.lines[0]?.["code"]], [404, "not_found"]);
  });

  test("serves one Hub; another gets 409 while that one is there, and is served when it has gone (HTP-1)", async (t) => {
    const { url } = await serve(t);
    const cut = new AbortController();
    const [one, two] = [new Peer(t, url, {}), new Peer(t, url, {})];
    one.connection = "k1";
    two.connection = "k2";
    await one.open({}, cut.signal);
    const refused = await two.open();
    assert.equal(refused.status, 409);
    const error = JSON.parse(await refused.text()) as Event;
    assert.deepEqual([error.event_type, error["code"], error["retryable"]], ["bb_error", "conflict", true]);
    cut.abort();
    while ((await two.open()).status !== 200) await setImmediate();
    await two.next(({ event_type }) => event_type === "bb_sync");
    assert.equal((await one.post({ event_type: "bb_ping" })).status, 404);
  });

  test("does not serve others without a token; with one it takes no other (HTP-11)", async (t) => {
    for (const host of ["0.0.0.0", "::", "192.168.0.1", "some.host"])
      await assert.rejects(bb.serveHttp(repeats, { host, token: "" }), {
        code: "forbidden",
        message: /set BYTEBOT_TOKEN to a secret/,
      });
    const warned: string[] = [];
    const warn = (warning: Error) => void warned.push(warning.message);
    process.on("warning", warn);
    const serving = await serve(t, { host: "0.0.0.0", token: "right" });
    await setImmediate();
    process.off("warning", warn);
    assert.match(warned.join(), /0\.0\.0\.0 is reachable from other machines, and HTTP is not encrypted/);
    const url = serving.url.replace("0.0.0.0", "127.0.0.1");
    for (const headers of [{}, { authorization: "Bearer wrong" }] as Record<string, string>[]) {
      const { status, lines } = await ask(`${url}/stream`, { headers });
      assert.deepEqual([status, lines[0]?.["code"]], [401, "unauthorized"]);
    }
    const hub = await app(t);
    await assert.rejects(hub.attach({ ref: url, kind: "infer", token: "wrong" }).ready, { code: "unauthorized" });
    await hub.attach({ ref: url, kind: "infer", token: "right" }).ready;
  });

  test("is attached by its URL, and by the URL of a Unix socket that only this user opens (HTP-1)", async (t) => {
    const folder = await mkdtemp(join(tmpdir(), "bytebot-http-"));
    t.after(() => rm(folder, { recursive: true }));
    const socket = join(folder, "tools.sock");
    const serving = await serve(
      t,
      { socket },
      tool(() => "done"),
    );
    assert.equal(serving.url, `http+unix://${encodeURIComponent(socket)}`);
    assert.equal((await stat(socket)).mode & 0o777, 0o600);
    const hub = await app(t, { policy: allow });
    assert.equal(await hub.attach({ ref: serving.url, kind: "toolsource" }).ready, "tools.sock");
    assert.equal((await call(hub)).success, true);
  });

  test("that is not there yet is waited for; that comes back is found again, under the same id (HTP-1, HTP-6)", async (t) => {
    const first = await serve(
      t,
      {},
      tool(() => "one"),
    );
    const port = Number(new URL(first.url).port);
    await first.close();
    const hub = await app(t, { policy: allow });
    const { ready } = hub.attach({ ref: `http://127.0.0.1:${port}`, name: "tools", kind: "toolsource" });
    const again = await serve(
      t,
      { port },
      tool(() => "two"),
    );
    assert.equal(await ready, "tools");
    assert.match(JSON.stringify((await call(hub)).content), /two/);
    const back = registered(hub);
    await again.close();
    await serve(
      t,
      { port },
      tool(() => "three"),
    );
    await back;
    assert.match(JSON.stringify((await call(hub)).content), /three/);
  });

  test("finds itself attached by a Hub that has started again (HTP-1)", async (t) => {
    const { url } = await serve(
      t,
      {},
      tool(() => "done"),
    );
    for (let n = 0; n < 3; n++) {
      const hub = await app(t, { policy: allow });
      await hub.attach({ ref: url, kind: "toolsource" }).ready;
      assert.equal((await call(hub)).success, true);
      await hub.stop();
    }
  });

  test("that is closed while its main does not end closes all the same (HTP-1)", async () => {
    const serving = await bb.serveHttp(() => new Promise(() => undefined));
    const stream = await fetch(`${serving.url}/stream`, { headers: { "bytebot-connection": "k1" } });
    await serving.close();
    await serving.closed;
    await assert.rejects(stream.text().then((text) => (text === "" ? Promise.reject(new Error("ended")) : text)));
    await assert.rejects(ask(serving.url));
  });
});

suite("a satellite that dials", () => {
  test("runs its main again on a Hub that has started again, until its signal (HTP-6)", async (t) => {
    const stop = new AbortController();
    let first = await served(t);
    const port = Number(new URL(first.url).port);
    let runs = 0;
    const main: bb.Main = async (start) => {
      runs++;
      await tool(() => `run ${runs}`)(start);
    };
    let there = registered(first.hub);
    const running = bb.dialHttp(main, {
      url: first.url,
      token: first.hub.addToken({ name: "tools", kind: "toolsource" }, "secret"),
      signal: stop.signal,
    });
    for (let n = 1; n <= 3; n++) {
      await there;
      assert.match(JSON.stringify((await call(first.hub)).content), new RegExp(`run ${n}`));
      await first.hub.stop();
      first = { hub: await app(t), url: "" };
      first.hub.addToken({ name: "tools", kind: "toolsource" }, "secret");
      there = registered(first.hub);
      await first.hub.serveHttp({ port });
    }
    stop.abort();
    await running;
  });

  test("ends with its main, and with the Hub's refusal; what its main throws is thrown (HTP-11)", async (t) => {
    const { hub, url } = await served(t);
    const token = hub.addToken({ name: "guest", kind: "ui" });
    const sync = async () => void (await bb.sync({ kind: "ui" }));
    await bb.dialHttp(sync, { url, token });
    await assert.rejects(bb.dialHttp(sync, { url, token: "wrong" }), { code: "unauthorized" });
    await assert.rejects(
      bb.dialHttp(async () => void (await bb.sync({ kind: "infer" })), { url, token }),
      { code: "forbidden" },
    );
    const fails = async () => {
      await bb.sync({ kind: "ui" });
      throw new Error("my fault");
    };
    await assert.rejects(bb.dialHttp(fails, { url, token }), /my fault/);
    await hub.removeToken(token);
    await assert.rejects(bb.dialHttp(sync, { url, token }), { code: "unauthorized" });
  });
});

suite("satellites that acknowledge", () => {
  test("served: what the Hub did not acknowledge by name it is sent again (HTP-10)", async (t) => {
    const main: bb.Main = async () => {
      const satellite = await bb.sync({ kind: "ui" });
      satellite.on("scope_state", ({ loop_id }) => {
        satellite.interrupt("u_1", String(loop_id)).catch(() => undefined); // nobody answers it
      });
      await satellite.start();
    };
    const { url } = await serve(t, { sendAcks: true }, main);
    const hub = new Peer(t, url, {});
    hub.connection = "k1";
    const cut = new AbortController();
    await hub.open({}, cut.signal);
    const sync = await hub.next(({ event_type }) => event_type === "bb_sync");
    assert.deepEqual(sync["capabilities"], { acks: {} });
    await hub.post(ack);
    const state = (loop_id: string) => ({
      event_type: "scope_state",
      id: loop_id,
      scope: "u_1",
      state: "idle",
      loop_id,
    });
    const { lines } = await hub.post([state("l_1"), state("l_2")]);
    assert.deepEqual(
      lines.map(({ event_type, in_reply_to }) => [event_type, in_reply_to]),
      [
        ["bb_ack", "l_1"],
        ["bb_ack", "l_2"],
      ],
    );
    const [first, second] = await hub.until(() => {
      const sent = hub.events.filter(({ event_type }) => event_type === "interrupt");
      return sent.length === 2 ? sent : undefined;
    });
    await hub.post({ event_type: "bb_ack", in_reply_to: first!["id"] });
    cut.abort();
    hub.events.length = 0;
    while ((await hub.open()).status !== 200) await setImmediate();
    await hub.post(state("l_3"));
    await hub.next(({ reason }) => reason === "l_3");
    assert.deepEqual(
      hub.events.map(({ reason }) => reason),
      ["l_2", "l_3"],
    );
    assert.equal(hub.events[0]!["id"], second!["id"]);
  });

  for (const format of ["ndjson", "sse"] as const) {
    test(`dialling, ${format}: it says of each event with a name that it came (HTP-10, HTP-5)`, async (t) => {
      const stop = new AbortController();
      const ears = new Ears();
      const link = Promise.withResolvers<Link>();
      const endpoint = new Endpoint<string>({
        begins: "inbox",
        answersLater: ({ event_type }) => event_type === "bb_sync",
        name: () => "the satellite",
        onConnection: (open) => link.resolve(open(ears)),
      });
      const server = await listenHttp({}, (path, request, response) => endpoint.handle(path, request, response, "it"));
      t.after(async () => {
        await endpoint.close("the test is over");
        await server.close();
      });
      const main: bb.Main = async () => void (await (await bb.sync({ kind: "ui" })).start());
      const running = bb.dialHttp(main, { url: server.url, token: "x", sendAcks: true, format, signal: stop.signal });
      const hub = await link.promise;
      assert.deepEqual((await ears.next("bb_sync"))["capabilities"], { acks: {} });
      hub.send(ack);
      hub.send({ event_type: "user_event", id: "m_1", scope: "u_1", type: "message", text: "x", from: "desk" });
      hub.send({ event_type: "infer_chunk", kind: "loop_done", id: "not this", scope: "u_1", loop_id: "l_1" });
      hub.send({ event_type: "bb_history_result", in_reply_to: "h_1", scope: "u_1", success: true, events: [] });
      assert.equal((await ears.next("bb_ack"))["in_reply_to"], "m_1");
      assert.equal((await ears.next("bb_ack"))["in_reply_to"], "h_1");
      stop.abort();
      await running;
    });
  }
});

const ack: Event = {
  event_type: "bb_sync_ack",
  component_id: "it",
  protocol_version: 1,
  kind: "ui",
  scopes: ["*"],
  input_capable: true,
  primary: true,
  controller: false,
  limits: { line_bytes: 1_048_576, values: 10_000, depth: 64 },
  hub: { name: "test", version: "1" },
};

async function registered(hub: ByteBot): Promise<void> {
  for await (const _ of hub.events("*", { types: ["bb_tool_register_result"] })) return;
}
