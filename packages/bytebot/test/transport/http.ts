import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { request as send, type IncomingMessage, type ServerResponse } from "node:http";
import type { TestContext } from "node:test";
import { DialedLink, Endpoint, listenHttp, type Link, type Receiver } from "../../src/transport/index.ts";
import { wide, type LineLimits } from "../../src/wire/index.ts";
import { echo } from "../fixtures/echo.ts";
import { proxy, type Proxy } from "./proxy.ts";

export interface Pair {
  /** Speaks to the test's receiver. */
  near: Link;
  far: Link;
  network: Proxy;
  /** The newest stream that was asked for, as its server writes it. */
  stream(): ServerResponse;
  /** Connections at the serving side. */
  readonly served: number;
}

export interface PairOptions {
  /** Which end serves; the other dials. */
  serves: "near" | "far";
  format: "ndjson" | "sse";
}

/** Both ends of an HTTP connection, with a network between them; the far one echoes, or is `receiver`'s. */
export async function httpPair(
  receiver: Receiver,
  t: TestContext,
  options: PairOptions,
  other?: Receiver,
): Promise<Pair> {
  const near = Promise.withResolvers<Link>();
  let stream: ServerResponse | undefined;
  const connection = randomUUID();
  const raw = new Raw();
  const farEnd = (open: (receiver: Receiver) => Link): Link =>
    other ? open(other) : echo(open, (bytes) => raw.write(bytes));
  let far!: Link;
  const limits: LineLimits | undefined = options.serves === "near" ? undefined : wide;
  const endpoint = new Endpoint<string>({
    begins: "stream",
    ...(limits ? { limits } : {}),
    answersLater: () => false,
    name: () => (options.serves === "near" ? "the dialler" : "the Hub"),
    onConnection: (open) => {
      if (options.serves === "near") near.resolve(open(receiver));
      else {
        const late = lateReceiver();
        const link = open(late.receiver);
        far = farEnd((its) => {
          late.become(its);
          return link;
        });
      }
    },
  });
  const server = await listenHttp({}, (path, request, response, query) => {
    if (path === "/stream" && request.method === "GET") stream = response;
    return endpoint.handle(path, request, response, "anybody", query);
  });
  const network = await proxy(Number(new URL(server.url).port));
  const url = `http://127.0.0.1:${network.port}`;
  const dial = (its: Receiver, name: string, allowed?: LineLimits): DialedLink =>
    new DialedLink(
      {
        name,
        stream: new URL(`${url}/stream`),
        inbox: new URL(`${url}/inbox`),
        connection,
        format: options.format,
        limits: allowed,
      },
      its,
    );
  t.after(async () => {
    raw.end();
    await Promise.allSettled([(await near.promise).close("the test is over"), far.close("the test is over")]);
    await network.close();
    await server.close();
  });
  const never = new AbortController().signal;
  if (options.serves === "near") {
    let dialed!: DialedLink;
    far = farEnd((its) => {
      dialed = dial(its, "the app", wide);
      return raw.before(dialed);
    });
    raw.to = (bytes) => post(`${url}/inbox`, connection, bytes);
    await dialed.open(never);
  } else {
    const dialed = dial(receiver, "the satellite");
    const encode = options.format === "sse" ? toSse() : (bytes: Buffer) => bytes;
    raw.now = (bytes) => void stream!.write(encode(bytes));
    await dialed.open(never);
    near.resolve(dialed);
  }
  return {
    near: await near.promise,
    get far() {
      return far;
    },
    network,
    stream: () => stream!,
    get served() {
      return endpoint.size;
    },
  };
}

/** Bytes past the far link, in the order they were given: what one event asks for, in one request. */
class Raw {
  now: ((bytes: Buffer) => void) | undefined;
  to: (bytes: Buffer[]) => Promise<void> = () => Promise.resolve();
  private parts: Buffer[] = [];
  private last: Promise<void> = Promise.resolve();

  write(bytes: Buffer): void {
    if (this.now) return this.now(bytes);
    this.parts.push(bytes);
    if (this.parts.length > 1) return;
    queueMicrotask(() => {
      const { parts } = this;
      this.parts = [];
      this.last = this.last.then(() => this.to(parts)).catch(() => undefined);
    });
  }

  end(): void {
    this.parts = [];
  }

  /** The link, closing after what was written past it has left. */
  before(link: Link): Link {
    const close = async (reason: string): Promise<void> => {
      await Promise.resolve();
      await this.last;
      await link.close(reason);
    };
    return {
      name: link.name,
      send: (event) => link.send(event),
      buffered: 0,
      drained: () => link.drained(),
      limit: (limits) => link.limit(limits),
      close,
    };
  }
}

/** Bytes of lines as the data of an event stream, cut where they were cut. */
function toSse(): (bytes: Buffer) => Buffer {
  let lineStart = true;
  return (bytes) => {
    const text = `${lineStart ? "data: " : ""}${bytes.toString("latin1").replaceAll(/\n(?!$)/g, "\ndata: ")}`;
    lineStart = bytes.at(-1) === 0x0a;
    return Buffer.from(text, "latin1");
  };
}

async function post(url: string, connection: string, parts: Buffer[]): Promise<void> {
  const headers = { "content-type": "application/x-ndjson", "bytebot-connection": connection };
  const request = send(url, { method: "POST", headers });
  request.on("error", () => {});
  for (const part of parts) {
    for (let at = 0; at < part.length; at += 1024 * 1024) {
      request.write(part.subarray(at, at + 1024 * 1024));
    }
  }
  request.end();
  const [response] = (await once(request, "response")) as [IncomingMessage];
  response.resume();
  await once(response, "end");
}

function lateReceiver(): { receiver: Receiver; become(receiver: Receiver): void } {
  let its: Receiver | undefined;
  return {
    receiver: {
      event: (event) => its?.event(event),
      fault: (error) => its?.fault(error),
      closed: (reason) => its?.closed(reason),
    },
    become: (receiver) => void (its = receiver),
  };
}
