import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { suite, test, type TestContext } from "node:test";
import { setImmediate } from "node:timers/promises";
import * as bb from "../../src/sdk/index.ts";
import { DialedLink } from "../../src/transport/index.ts";
import type { Event } from "../../src/wire/index.ts";
import { Ears } from "../transport/ears.ts";

const OK = "HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\n";
const sized = (body: string, head = OK) => `${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
const PING = `{"event_type":"ping"}\n`;
const never = new AbortController().signal;

/** A server that answers each request as the test says, byte by byte. */
async function server(t: TestContext, answer: (request: string, socket: Socket, count: number) => void) {
  const sockets = new Set<Socket>();
  const requests: string[] = [];
  const listening = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    let text = "";
    socket.setEncoding("latin1").on("data", (part: string) => {
      text += part;
      for (let end = endOf(text); end !== undefined; end = endOf(text)) {
        requests.push(text.slice(0, end));
        text = text.slice(end);
        answer(requests.at(-1)!, socket, requests.length);
      }
    });
  });
  listening.listen(0, "127.0.0.1");
  await once(listening, "listening");
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    listening.close();
  });
  return { url: `http://127.0.0.1:${(listening.address() as AddressInfo).port}`, requests };
}

/** Where the first request in the text ends, if all of it is there. */
function endOf(text: string): number | undefined {
  const head = text.indexOf("\r\n\r\n");
  if (head === -1) return undefined;
  const size = Number(/content-length: (\d+)/i.exec(text.slice(0, head))?.[1] ?? 0);
  return text.length >= head + 4 + size ? head + 4 + size : undefined;
}

function dial(url: string, ears = new Ears()): { link: DialedLink; ears: Ears } {
  const link = new DialedLink(
    { name: "it", stream: new URL(`${url}/stream`), inbox: new URL(`${url}/inbox`), connection: "k1" },
    ears,
  );
  return { link, ears };
}

/** Time goes by while sockets do what they do. */
async function pass(t: TestContext, ms: number, until: () => boolean = () => false): Promise<number> {
  let passed = 0;
  for (; passed < ms && !until(); passed += 100) {
    t.mock.timers.tick(100);
    for (let turn = 0; turn < 10; turn++) await setImmediate();
  }
  return passed;
}

function stopClock(t: TestContext): void {
  t.mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"], now: Date.now() });
  t.mock.method(performance, "now", () => Date.now());
}

suite("a server that is no peer", () => {
  for (const [what, answer, said] of [
    [
      "a page",
      sized("<html>", "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n"),
      /the content type "text\/html": is the URL right/,
    ],
    ["no content type", sized(PING, "HTTP/1.1 200 OK\r\n"), /the content type ""/],
    ["what is compressed", sized("\x1f\x8b", `${OK}content-encoding: gzip\r\n`), /application\/x-ndjson", encoded/],
    ["nothing", "HTTP/1.1 204 No Content\r\n\r\n", /HTTP status 204/],
    ["another protocol", "SSH-2.0-OpenSSH_9.6\r\n", /cannot be reached: Parse Error/],
    ["headers without end", `${OK}${"x-y: zzzzzzzzzzzzzzzz\r\n".repeat(4000)}`, /cannot be reached: Parse Error/],
    ["401 in words of its own", sized("who are you?", "HTTP/1.1 401 No\r\n"), /HTTP status 401/],
    [
      "404 with an error that is none",
      sized(`{"event_type":"bb_error","code":7}`, "HTTP/1.1 404 No\r\n"),
      /HTTP status 404/,
    ],
  ] as const) {
    test(`is refused at once where it answers the GET of a stream with ${what} (HTP-5)`, async (t) => {
      const { url, requests } = await server(t, (_, socket) => socket.write(answer));
      const { link, ears } = dial(url);
      await assert.rejects(link.open(never), { name: "BytebotError", message: said });
      assert.equal(ears.closings.length, 1);
      assert.equal(requests.filter((request) => request.startsWith("GET")).length, 1);
    });
  }

  test("that never answers, or never ends its answer, is given up with what it did (HTP-6)", async (t) => {
    stopClock(t);
    for (const answer of ["", "HTTP/1.1 500 Oh\r\ncontent-length: 10\r\n\r\nx"]) {
      const { url } = await server(t, (_, socket) => socket.write(answer));
      const { link } = dial(url);
      let over = false;
      const opening = assert
        .rejects(link.open(never), /could not be reached at its stream for 10 s/)
        .then(() => (over = true));
      const passed = await pass(t, 200_000, () => over);
      await opening;
      assert.ok(passed >= 10_000, `after ${passed} ms`);
    }
  });

  test("that says come back at once, or at no time that is one, is not asked in a loop (HTP-6)", async (t) => {
    stopClock(t);
    for (const after of [0, -1, `"soon"`, 1e308]) {
      const body = `{"event_type":"bb_error","code":"overloaded","message":"busy","retryable":true,"retry_after_ms":${after}}`;
      const { url, requests } = await server(t, (_, socket) => socket.write(sized(body, "HTTP/1.1 503 No\r\n")));
      const { link } = dial(url);
      let over = false;
      const opening = assert.rejects(link.open(never)).then(() => (over = true));
      await pass(t, 60_000, () => over);
      await opening;
      assert.ok(requests.length < 15, `${after}: ${requests.length} requests`);
    }
  });

  test("whose stream ends as soon as it begins is come back to with growing waits, not in a loop (HTP-6)", async (t) => {
    stopClock(t);
    const { url, requests } = await server(t, (_, socket) => socket.write(sized(PING)));
    const { link, ears } = dial(url);
    await link.open(never);
    await pass(t, 20_000);
    assert.ok(requests.length > 5 && requests.length < 40, `${requests.length} requests in 20 s`);
    assert.equal(ears.events.length, requests.length);
    assert.match(requests.at(-1)!, new RegExp(`bytebot-received: ${requests.length - 1}\r\n`));
    t.mock.reset();
    t.mock.timers.reset();
    await link.close("the test is over");
  });

  test("whose stream falls silent for 35 s is come back to (HTP-9)", async (t) => {
    stopClock(t);
    const { url, requests } = await server(t, (request, socket) => {
      if (request.startsWith("GET")) socket.write(`${OK}\r\n${PING}`);
    });
    const { link, ears } = dial(url);
    await link.open(never);
    await ears.next("ping");
    await pass(t, 34_000);
    assert.equal(requests.length, 1);
    await pass(t, 2000, () => requests.length > 1);
    await ears.next("ping");
    assert.match(requests[1]!, /bytebot-received: 1\r\n/);
    t.mock.timers.reset();
    t.mock.reset();
    await link.close("the test is over");
  });

  test("whose inbox answers with noise is given up, before errors about errors go on for ever (FRM-11)", async (t) => {
    const { url, requests } = await server(t, (request, socket) =>
      socket.write(request.startsWith("GET") ? `${OK}\r\n` : sized("what?\n\x00\n")),
    );
    class Complains extends Ears {
      link: DialedLink | undefined;
      override fault(error: never): void {
        super.fault(error);
        this.link?.send({ event_type: "bb_error", message: String(error) });
      }
    }
    const ears = new Complains();
    const { link } = dial(url, ears);
    ears.link = link;
    await link.open(never);
    link.send({ event_type: "ping" });
    assert.match(await ears.end(), /too many lines from it were no events/);
    assert.ok(requests.length < 110, `${requests.length} requests`);
  });

  test("whose inbox answers with more than 4 MiB, or with another's status, ends the connection and says why (HTP-4)", async (t) => {
    const large = sized(`{"event_type":"bb_ack","x":"${"x".repeat(5 * 1024 * 1024)}"}\n`);
    for (const [answer, said] of [
      [large, /answered with more than 4194304 bytes/],
      [sized("gone", "HTTP/1.1 404 No\r\n"), /HTTP status 404/],
      [sized("", "HTTP/1.1 302 No\r\nlocation: /\r\n"), /HTTP status 302/],
    ] as const) {
      const { url } = await server(t, (request, socket) =>
        socket.write(request.startsWith("GET") ? `${OK}\r\n` : answer),
      );
      const { link, ears } = dial(url);
      await link.open(never);
      link.send({ event_type: "ping" });
      assert.match(await ears.end(), said);
      assert.equal(link.buffered < 100, true);
    }
  });

  test("whose inbox breaks in the middle of its answer gets the same request again, and its answers count once (HTP-8)", async (t) => {
    const ack = `{"event_type":"bb_ack","in_reply_to":"m_1"}\n`;
    let posts = 0;
    const { url, requests } = await server(t, (request, socket) => {
      if (request.startsWith("GET")) return void socket.write(`${OK}\r\n`);
      if (!request.startsWith("POST")) return void socket.write(sized(""));
      if (++posts === 1) socket.write(`${OK}content-length: 1000\r\n\r\n${ack}`, () => socket.resetAndDestroy());
      else socket.write(sized(ack));
    });
    const { link, ears } = dial(url);
    await link.open(never);
    link.send({ event_type: "user_event", id: "m_1" });
    await ears.next("bb_ack");
    await link.close("the test is over");
    const bodies = requests.filter((request) => request.startsWith("POST"));
    assert.equal(bodies.length, 2);
    assert.equal(bodies[0], bodies[1]);
    assert.equal(ears.events.length, 1);
  });

  test("whose lines have no end, or whose fields are odd, is read past them (FRM-5, HTP-5)", async (t) => {
    const sse = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n\r\n";
    const fields = [
      "retry: 1\n",
      "event: ping\nid: 7\r\n",
      "data\n",
      ": data: no\n",
      " data: no\n",
      "data : no\n",
      "datax: no\n",
      "data:\n",
      `data:${PING}`,
      `data:  ${PING.trim()}\r\n`,
      `${"x".repeat(100_000)}: y\n`,
      `${"x".repeat(100_000)}\n`,
      `data: ${"y".repeat(100_000)}\n`,
      `data: ${PING}`,
    ];
    const { url } = await server(t, (request, socket) => {
      if (request.startsWith("GET")) socket.write(sse + fields.join(""));
      else socket.write(sized(""));
    });
    const { link, ears } = dial(url);
    await link.open(never);
    await ears.count(3);
    assert.deepEqual(
      ears.faults.map(({ code }) => code),
      ["too_large"],
    );
    await link.close("the test is over");
  });

  test("whose stream has no length and breaks within a line sends that line again, and it counts once (HTP-7)", async (t) => {
    const { url, requests } = await server(t, (request, socket, count) => {
      if (!request.startsWith("GET")) socket.write(sized(""));
      else if (count === 1) socket.end(`${OK}connection: close\r\n\r\n${PING}{"event_type":"po`);
      else socket.write(`${OK}connection: close\r\n\r\n{"event_type":"pong"}\n`);
    });
    const { link, ears } = dial(url);
    await link.open(never);
    await ears.next("pong");
    assert.match(requests[1]!, /bytebot-received: 1\r\n/);
    assert.deepEqual([ears.events.length, ears.faults.length], [2, 0]);
    await link.close("the test is over");
  });

  test("that answers bb_sync without a connection is said to be no Hub (HTP-2)", async (t) => {
    const { url } = await server(t, (_, socket) => socket.write(sized(`{"event_type":"bb_ack"}\n`)));
    const main = async () => void (await bb.sync({ kind: "ui" }));
    const stop = new AbortController();
    const told = t.mock.method(console, "error", () => stop.abort());
    await bb.dialHttp(main, { url, token: "x", signal: stop.signal });
    const [[said]] = told.mock.calls.map((call) => call.arguments as unknown[]) as [[string]];
    assert.match(said, /answered with no header bytebot-connection: is the URL right\?; trying again/);
  });

  test("that takes nothing more is given up before the memory is: 64 Mi characters (HTP-6)", async (t) => {
    const { url } = await server(t, (request, socket) => {
      if (request.startsWith("GET")) socket.write(`${OK}\r\n`);
    });
    const { link, ears } = dial(url);
    await link.open(never);
    const event: Event = Object.freeze({ event_type: "big", text: "x".repeat(1024 * 1024) });
    for (let n = 0; n < 70; n++) link.send(event);
    assert.match(await ears.end(), /takes too little: 67108864 characters wait/);
  });
});
