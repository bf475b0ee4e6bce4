import { setTimeout as pause } from "node:timers/promises";
import { ackNameOf, encode, kinds, nameOf } from "../../wire/index.ts";
import { Inapplicable, Unmet, type Check } from "../check.ts";
import { linesOf as shownLines } from "../requests.ts";
import type { Peer } from "../peer.ts";
import type { Stage } from "../stage.ts";
import { newId, type Work } from "../work.ts";
import { answer, refuse, type Asked } from "./listening.ts";
import { linesOf, type Serving } from "./serving.ts";

type Run = (hub: Serving, peer: Peer, stage: Stage) => Promise<unknown>;

/** What is seen of a satellite that dials in, where its handshake is done. */
export function dials(check: Omit<Check, "kinds" | "over" | "run">, run: Run): Check {
  return {
    kinds,
    over: "dials",
    needs: "handshake",
    ...check,
    run: async (stage) => {
      const peer = await stage.attach();
      await peer.serving.streaming();
      return run(peer.serving, peer, stage);
    },
  };
}

/** Of one that has only been started. */
function begins(check: Omit<Check, "kinds" | "over" | "run">, run: Run): Check {
  return {
    kinds,
    over: "dials",
    needs: "handshake",
    ...check,
    run: async (stage) => {
      const peer = await stage.open();
      return run(peer.serving, peer, stage);
    },
  };
}

const COME_MS = 10_000;
/** How long it is watched for what it must not do. */
const WATCH_MS = 2000;
const SLOW_MS = 4000;
const MOST_POSTS = 4;
/** Wrong tokens in a minute, after which a Hub answers 429. */
const MOST_WRONG = 20;

export const dialsChecks: Check[] = [
  begins(
    {
      rule: "HTP-2",
      title: "It posts its bb_sync first and alone, then comes for its stream with the Bytebot-Connection it got",
      fix: "POST one line to /inbox without Bytebot-Connection; send all else with the header of its answer",
    },
    async (hub, peer, stage) => {
      stage.welcome(peer, await stage.synced(peer));
      const [first] = hub.seen as [Asked];
      const lines = linesOf(first).length;
      if (first.path !== "/inbox" || lines !== 1)
        throw new Unmet("a POST of one line", `${told(first)}, ${lines} lines`);
      await hub.streaming(COME_MS);
      await stage.alive(peer);
      const { id } = hub.session!;
      const other = hub.seen.slice(1).find(({ headers }) => headers["bytebot-connection"] !== id);
      if (other) throw new Unmet(`Bytebot-Connection: ${id}`, `${told(other)} without it`);
    },
  ),
  dials(
    {
      rule: "HTP-3",
      title: "A connection that gets 404 is lost: nothing more is sent under its id",
      fix: "on 404 begin anew, with bb_sync and without Bytebot-Connection, or end",
    },
    async (hub, peer, stage) => {
      await stage.alive(peer);
      const { id } = hub.session!;
      const before = hub.seen.length;
      hub.forget();
      const later = (): Asked[] => hub.seen.slice(before);
      const came = hub.next("", (asked) => later().includes(asked), COME_MS);
      if (!(await came.catch(() => undefined))) throw new Inapplicable("it does not return, so it is told nothing");
      await pause(WATCH_MS);
      const mine = later().filter(({ headers, method }) => headers["bytebot-connection"] === id && method !== "DELETE");
      // Its stream and a request may have been on their way together.
      if (mine.length > 3) throw new Unmet("no more requests after 404", `${mine.length} in ${WATCH_MS / 1000} s`);
    },
  ),
  dials(
    {
      rule: "HTP-4",
      title: "A bb_error in the answer of its inbox does not end it",
    },
    async (hub, peer, stage) => {
      const error = { event_type: "bb_error", code: "not_found", message: "there is no such thing", retryable: false };
      playOnce(hub, isPost, (asked) => answer(asked, 200, encode(error).repeat(linesOf(asked).length)));
      peer.send((await stage.question(peer)).event);
      await hub.next("an inbox request", isPost, COME_MS);
      await stage.alive(peer);
    },
  ),
  dials(
    {
      rule: "HTP-4",
      title: "It waits for a slow answer of its inbox, and has four requests under way at most",
      fix: "send one inbox request at a time, with all that has gathered meanwhile; an answer may take 25 s",
    },
    async (hub, peer, stage) => {
      let under = 0;
      let most = 0;
      let slow = SLOW_MS;
      hub.play = (asked) => {
        if (asked.method !== "POST") return false;
        most = Math.max(most, ++under);
        setTimeout(() => {
          under--;
          hub.answer(asked);
        }, slow);
        slow = 50;
        return true;
      };
      const works: Work[] = [];
      for (let n = 0; n < 8; n++) works.push(await stage.question(peer));
      peer.send(...works.map(({ event }) => event));
      await Promise.all(works.map((work) => stage.answer(peer, work, stage.questionMs() + 2 * SLOW_MS)));
      if (most > MOST_POSTS) throw new Unmet("four at most at once", `${most}`);
      once(peer, works);
    },
  ),
  begins(
    {
      rule: "HTP-5",
      title: "It takes its stream as text/event-stream too",
      fix: "look at the answer's Content-Type; there an event is what follows data: , and the other lines say nothing",
    },
    async (hub, peer, stage) => {
      hub.sse = true;
      stage.welcome(peer, await stage.synced(peer));
      await hub.streaming(COME_MS);
      await stage.alive(peer);
    },
  ),
  dials(
    {
      rule: "HTP-10",
      title: "It acknowledges each event that has a name, where it announces acks",
      fix: '{"event_type":"bb_ack","in_reply_to": the event\'s id}; chunks, errors, pings and acknowledgements get none',
    },
    async (_hub, peer, stage) => {
      const { acks } = (peer.sync?.["capabilities"] ?? {}) as { acks?: unknown };
      if (acks === undefined) throw new Inapplicable("it announces no acks");
      const id = newId("x");
      peer.send({ event_type: "com.example/typing", id, scope: stage.scope(peer) });
      const isIt = ({ event_type, in_reply_to }: { event_type: string; in_reply_to?: unknown }): boolean =>
        event_type === "bb_ack" && in_reply_to === id;
      await peer.wait(`bb_ack with "in_reply_to":"${id}"`, (event) => isIt(event), stage.within("pong"));
      const wrong = peer.events("bb_ack").find(({ in_reply_to }) => unnamed(peer, in_reply_to));
      if (wrong) throw new Unmet("no acknowledgement of what gets none", JSON.stringify(wrong), shownLines([wrong]));
    },
  ),
  begins(
    {
      rule: "HTP-11",
      title: "Each of its requests has its token in Authorization, and nowhere else",
      fix: "Authorization: Bearer and BYTEBOT_TOKEN, also at GET /stream",
    },
    async (hub, peer, stage) => {
      stage.welcome(peer, await stage.synced(peer));
      await hub.next("GET /stream", ({ path }) => path === "/stream", COME_MS);
      if (hub.session?.stream) await stage.alive(peer);
      const bare = hub.seen.find(({ authorized }) => !authorized);
      if (bare) throw new Unmet("Authorization: Bearer and its token", `${told(bare)} without it`);
      const open = hub.seen.find(({ url, body }) => url.includes(hub.token) || body.includes(hub.token));
      if (open) throw new Unmet("the token in Authorization alone", `${open.method} ${open.path} says it elsewhere`);
    },
  ),
  begins(
    {
      rule: "HTP-11",
      title: "It does not follow a redirect",
      fix: "a redirect would lead the token elsewhere: take 3xx for a refusal",
    },
    async (hub, peer, stage) => {
      hub.play = (asked) => {
        if (asked.path !== "/stream") return false;
        answer(asked, 307, "", { location: "/elsewhere" });
        return true;
      };
      stage.welcome(peer, await stage.synced(peer));
      await hub.next("GET /stream", ({ path }) => path === "/stream", COME_MS);
      await pause(WATCH_MS);
      if (hub.seen.some(({ path }) => path === "/elsewhere")) throw new Unmet("no request there", "GET /elsewhere");
    },
  ),
  knocks("HTP-11", 401, "unauthorized"),
  knocks("ERR-1", 403, "forbidden"),
];

function knocks(rule: string, status: number, code: string): Check {
  return begins(
    {
      rule,
      title: `Refused with ${status} it does not knock on and on`,
      fix: "end, or wait longer each time: after 20 wrong tokens in a minute there is 429 for everybody of that address",
    },
    async (hub) => {
      hub.play = (asked) => {
        refuse(asked, status, code, "you are not let in");
        return true;
      };
      await hub.next("a request", () => true, COME_MS);
      await pause(WATCH_MS);
      if (hub.seen.length > MOST_WRONG)
        throw new Unmet(`${MOST_WRONG} requests in a minute at most`, `${hub.seen.length} in ${WATCH_MS / 1000} s`);
    },
  );
}

export function told({ method, path }: Asked): string {
  return `${method} ${path}`;
}

export function isPost({ method, path, headers }: Asked): boolean {
  return method === "POST" && path === "/inbox" && headers["bytebot-connection"] !== undefined;
}

/** Plays the first request from here on that fits; the others are answered as a Hub does. */
export function playOnce(hub: Serving, fits: (asked: Asked) => boolean, run: (asked: Asked) => void): void {
  hub.play = (asked) => {
    if (!fits(asked)) return false;
    hub.play = undefined;
    run(asked);
    return true;
  };
}

/** Each was answered once. */
export function once(peer: Peer, works: readonly Work[]): void {
  for (const { answers, expected } of works) {
    const mine = peer.events().filter(answers);
    if (mine.length !== 1) throw new Unmet(`one ${expected}`, `${mine.length}`, shownLines(mine));
  }
}

/** Was what this acknowledges an event that gets no acknowledgement? */
function unnamed(peer: Peer, name: unknown): boolean {
  const asked = [...peer.asked.values()].find((event) => nameOf(event) === name);
  return asked !== undefined && ackNameOf(asked) === undefined;
}
