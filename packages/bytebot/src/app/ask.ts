import { DialedLink, dialSocket, type Connect, type Link, type Receiver } from "../transport/index.ts";
import { BytebotError, wide, type Event, type WireError } from "../wire/index.ts";

/** For the handshake and the answer; milliseconds. */
const ANSWER_MS = 15_000;

/** A running app: by the socket of its user, who owns it there, or by its URL, with a token. */
export type Running = { socket: string } | { url: string; token: string | undefined };

/**
 * Asks a running app for one thing that only its owner or a controller may, and leaves. Rejects with BytebotError: what the
 * app refused, `unavailable` where there is none, `timeout`.
 */
export async function askApp(where: Running, event: Event): Promise<Event> {
  const deadline = AbortSignal.timeout(ANSWER_MS);
  const { promise, resolve, reject } = Promise.withResolvers<Event>();
  const late = (): void => reject(new BytebotError("timeout", `the app did not answer within ${ANSWER_MS / 1000} s`));
  deadline.addEventListener("abort", late, { once: true });
  let link: Link | undefined;
  const receiver: Receiver = {
    event: (got) => {
      if (got.event_type === "bb_sync_ack") link!.send({ ...event, id: ID });
      else if (got.event_type === "bb_error") reject(BytebotError.fromWire(got as unknown as WireError));
      else if (got.event_type === `${event.event_type}_result`) resolve(got);
    },
    fault: reject,
    closed: (reason) => reject(new BytebotError("unavailable", `the app closed the connection: ${reason}`)),
  };
  try {
    link = await open(where, receiver, deadline);
    // The controller's role is for one that stays: who was offered it may ask without (rule TOK-1).
    const role = "socket" in where ? { owner: true } : { controller: false };
    link.send({ event_type: "bb_sync", kind: "ui", name: "bytebot-token", ...role, ...SILENT });
    const answer = await promise;
    if (answer["success"] !== true) throw BytebotError.fromWire(answer["error"] as WireError);
    return answer;
  } finally {
    deadline.removeEventListener("abort", late);
    promise.catch(() => undefined);
    await link?.close("it has its answer");
  }
}

const ID = "ask_1";
/** It is shown nothing, and nobody waits for it to answer. */
const SILENT = { input_capable: false, primary: false, types: [] };

async function open(where: Running, receiver: Receiver, signal: AbortSignal): Promise<Link> {
  if ("socket" in where) {
    const connect: Connect = dialSocket(where.socket);
    return connect(receiver, signal);
  }
  const base = where.url.endsWith("/") ? where.url : `${where.url}/`;
  const urls = { stream: new URL("stream", base), inbox: new URL("inbox", base) };
  return new DialedLink({ name: `the Hub at ${where.url}`, ...urls, token: where.token, limits: wide }, receiver);
}
