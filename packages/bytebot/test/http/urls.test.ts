import assert from "node:assert/strict";
import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { suite, test, type TestContext } from "node:test";
import { z } from "zod";
import { parseReference } from "../../src/resolve/index.ts";
import * as bb from "../../src/sdk/index.ts";
import { Client } from "../../src/transport/index.ts";
import type { Event } from "../../src/wire/index.ts";
import { app, Peer, repeats } from "./client.ts";
import { ending } from "./ending.ts";

/** A server in front of a satellite's: it answers these paths itself, and passes the rest on. */
async function site(
  t: TestContext,
  paths: Record<string, (request: IncomingMessage, response: ServerResponse) => void>,
): Promise<string> {
  const satellite = await bb.serveHttp(repeats, {});
  const server: Server = createServer((request, response) => {
    const own = paths[request.url!];
    if (own) return own(request, response);
    void fetch(`${satellite.url}${request.url}`, {
      method: request.method!,
      headers: Object.fromEntries(
        ["bytebot-connection", "bytebot-batch", "bytebot-received", "content-type"].flatMap((name) => {
          const value = request.headers[name];
          return typeof value === "string" ? [[name, value]] : [];
        }),
      ),
      ...(request.method === "POST" ? { body: request as never, duplex: "half" } : {}),
    } as RequestInit)
      .then(async (its) => {
        response.writeHead(its.status, { "content-type": its.headers.get("content-type") ?? "text/plain" });
        for await (const part of its.body!) response.write(part);
        response.end();
      })
      .catch(() => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(async () => {
    server.closeAllConnections();
    server.close();
    await satellite.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const MANIFEST = "/bytebot.component.json";
/** `HERE` in it: the server's own address. */
const manifest =
  (entry: object, more: object = {}) =>
  (request: IncomingMessage, response: ServerResponse) =>
    json(
      JSON.stringify({ schema_version: 1, kind: "infer", language: "python", entry, ...more }).replaceAll(
        "HERE",
        `http://${request.headers.host}`,
      ),
    )(request, response);
const json = (text: string) => (_: IncomingMessage, response: ServerResponse) =>
  void response.setHeader("content-type", "application/json").end(text);

suite("a component behind a URL", () => {
  test("is found by the manifest it serves, and without one, or with a page in its place, dialled at once (HTP-14)", async (t) => {
    const hub = await app(t);
    let asked = 0;
    const entry = { type: "http", stream: "HERE/stream", inbox: "HERE/inbox" };
    const named = await site(t, {
      [MANIFEST]: (request, response) => {
        asked++;
        manifest(entry, { name: "thinker" })(request, response);
      },
    });
    assert.equal(await hub.attach(named).ready, "thinker");
    assert.equal(asked, 1);
    const page = await site(t, {
      [MANIFEST]: (_, response) => void response.setHeader("content-type", "text/html").end("<html>"),
    });
    assert.equal(await hub.attach(page).ready, "127.0.0.1");
    const { url } = await bb.serveHttp(repeats, { signal: ending(t) });
    assert.equal(await hub.attach(`${url}/`).ready, "127.0.0.1-2");
    const elsewhere = await site(t, { "/deep/manifest.json": manifest(entry, { name: "deep" }) });
    assert.equal(await hub.attach(`${elsewhere}/deep/manifest.json`).ready, "deep");
  });

  test("may name its paths relative to its manifest (HTP-14)", async (t) => {
    const hub = await app(t);
    for (const [at, stream, inbox] of [
      ["", "stream", "./inbox"],
      ["/deep", "/stream", "../inbox"],
      ["/deep/manifest.json", "../stream", "//HOST/inbox"],
    ]) {
      const path = at!.endsWith(".json") ? at! : `${at}${MANIFEST}`;
      const url: string = await site(t, {
        [path]: (request, response) => {
          const named = inbox!.replace("HOST", String(request.headers.host));
          manifest({ type: "http", stream, inbox: named }, { name: "thinker" })(request, response);
        },
      });
      assert.match(await hub.attach(`${url}${at}`).ready, /^thinker/);
    }
    const url = await site(t, {
      [MANIFEST]: manifest({ type: "http", stream: "//other.example/stream", inbox: "inbox" }),
    });
    await assert.rejects(hub.attach(url).ready, { code: "forbidden", message: /names another server, other\.example/ });
  });

  test("whose manifest names another server is refused, and its token stays here (HTP-14)", async (t) => {
    const hub = await app(t);
    let asked = 0;
    const other = await site(t, { "/stream": (_, response) => void (asked++, response.end()) });
    for (const [stream, inbox] of [
      [`${other}/stream`, "HERE/inbox"],
      ["HERE/stream", `${other}/inbox`],
      ["http://localhost/stream", "HERE/inbox"],
      ["https://127.0.0.1/stream", "HERE/inbox"],
    ]) {
      const url = await site(t, { [MANIFEST]: manifest({ type: "http", stream, inbox }) });
      await assert.rejects(hub.attach({ ref: url, token: "secret" }).ready, {
        code: "forbidden",
        message: /names another server/,
      });
    }
    assert.equal(asked, 0);
  });

  test("whose manifest cannot be used is refused with what is wrong with it (HTP-14)", async (t) => {
    const hub = await app(t);
    const rejects = async (answer: (request: IncomingMessage, response: ServerResponse) => void, message: RegExp) =>
      assert.rejects(hub.attach(await site(t, { [MANIFEST]: answer })).ready, { message });
    await rejects(json("{"), /bytebot\.component\.json is no JSON/);
    await rejects(json(JSON.stringify({ schema_version: 2 })), /schema_version/);
    await rejects(json(" ".repeat(300_000)), /answered with more than 262144 bytes/);
    await rejects(manifest({ type: "stdio", command: ["sh", "-c", "exit"] }), /behind a URL it has to be "http"/);
  });

  test("that does not give out its manifest within 5 s is dialled without (HTP-14)", async (t) => {
    const hub = await app(t);
    const asked = Promise.withResolvers<void>();
    const url = await site(t, { [MANIFEST]: () => asked.resolve() });
    const timeouts: AbortController[] = [];
    t.mock.method(AbortSignal, "timeout", (ms: number) => {
      assert.equal(ms, 5000);
      timeouts.push(new AbortController());
      return timeouts.at(-1)!.signal;
    });
    const { ready } = hub.attach({ ref: url, kind: "infer" });
    await asked.promise;
    t.mock.restoreAll();
    timeouts[0]!.abort();
    assert.equal(await ready, "127.0.0.1");
  });

  test("is not followed to where it redirects (HTP-11)", async (t) => {
    const hub = await app(t);
    let asked = 0;
    const target = await site(t, {
      "/stream": (_, response) => void (asked++, response.end()),
      [MANIFEST]: (_, response) => void (asked++, response.end()),
    });
    const redirect = (path: string) => (_: IncomingMessage, response: ServerResponse) =>
      void response.writeHead(307, { location: `${target}${path}` }).end();
    const url = await site(t, { "/stream": redirect("/stream"), [MANIFEST]: redirect(MANIFEST) });
    await assert.rejects(hub.attach({ ref: url, token: "secret" }).ready, {
      code: "unavailable",
      message: /HTTP status 307/,
    });
    assert.equal(asked, 0);
  });

  test("asks before each call of its tools, until the policy says otherwise (HTP-14, POL-1)", async (t) => {
    const hub = await app(t);
    const { url } = await bb.serveHttp(
      async () => {
        const satellite = await bb.sync({ kind: "toolsource" });
        satellite.tool(
          bb.defineTool({ name: "work", input: z.object({}), annotations: { read_only: true }, run: () => "done" }),
        );
        await satellite.start();
      },
      { signal: ending(t) },
    );
    await hub.attach({ ref: url, kind: "toolsource", name: "far" }).ready;
    const unasked = await hub.callTool("u_1", "work", {});
    assert.deepEqual([unasked.success, unasked.status], [false, "denied"], "nobody is there to be asked");
    await hub.setPolicy([{ tool: "far/*", decision: "allow" }]);
    assert.equal((await hub.callTool("u_1", "work", {})).success, true);
  });
});

suite("a URL that a satellite asks to attach", () => {
  test("may not lead to this machine or a private network, however it is written (HTP-14)", async (t) => {
    const { url: inside } = await bb.serveHttp(repeats, { signal: ending(t) });
    const { port } = new URL(inside);
    const hub = await app(t, { mayAttach: () => true });
    const url = await hub.serveHttp();
    const owner = Peer.withToken(t, url, hub.addToken({ name: "desk", kind: "ui", controller: true }));
    assert.equal((await owner.sync({ kind: "ui", controller: true }))["controller"], true);
    await owner.open();
    const refs = [
      `http://127.0.0.1:${port}`,
      `http://localhost:${port}`,
      `http://2130706433:${port}`,
      `http://0x7f.1:${port}`,
      `http://0177.0.0.1:${port}`,
      `http://127.1:${port}`,
      `http://0:${port}`,
      `http://[::1]:${port}`,
      `http://[::ffff:127.0.0.1]:${port}`,
      `http://[::ffff:7f00:1]:${port}`,
      `http://[::127.0.0.1]:${port}`,
      `http://[64:ff9b::7f00:1]:${port}`,
      "http://10.0.0.1",
      "http://172.31.255.255",
      "http://192.168.1.1",
      "http://169.254.169.254",
      "http://100.100.100.200",
      "http://[fe80::1]",
      "http://[fd00::1]",
      "https://127.0.0.1",
      `http+unix://${encodeURIComponent("/run/x.sock")}`,
    ];
    for (const [n, ref] of refs.entries()) {
      await owner.post({ event_type: "bb_attach", id: `a_${n}`, ref });
      const { error } = await owner.next(({ in_reply_to }) => in_reply_to === `a_${n}`);
      assert.equal((error as Event | undefined)?.["code"], "forbidden", `${ref}: ${JSON.stringify(error)}`);
    }
  });

  test("is looked up once more at each connection; public addresses pass (HTP-14)", async () => {
    const client = new Client({ publicOnly: true });
    const { address } = await lookup("localhost");
    const refused = (error: unknown) =>
      (error as { code: string; message: string }).code === "forbidden" && String(error).includes(address);
    await assert.rejects(client.send(new URL("http://localhost:9/"), { method: "GET" }), refused);
    const gone = AbortSignal.abort();
    for (const host of ["8.8.8.8", "[2606:4700::1111]", "172.32.0.1", "example.com"])
      await assert.rejects(client.send(new URL(`http://${host}/`), { method: "GET", signal: gone }), {
        code: "cancelled",
      });
    client.close();
    assert.throws(() => parseReference("http://a b"), { code: "invalid_params" });
  });

  test("is not sent the app's own secret (HTP-14)", async (t) => {
    process.env["BYTEBOT_TOKEN"] = "secret";
    t.after(() => delete process.env["BYTEBOT_TOKEN"]);
    const { reach } = await import("../../src/app/reach.ts");
    const seen: (string | undefined)[] = [];
    const url = await site(t, {
      [MANIFEST]: ({ headers }, response) => void (seen.push(headers.authorization), response.writeHead(404).end()),
    });
    await reach({ ref: url }, { base: ".", print: () => undefined });
    assert.deepEqual(seen, ["Bearer secret"]);
  });
});
