import { setTimeout as pause } from "node:timers/promises";
import { encode } from "../../wire/index.ts";
import { Inapplicable, Unmet, type Check } from "../check.ts";
import type { Peer } from "../peer.ts";
import type { Stage } from "../stage.ts";
import { strange } from "../tour.ts";
import type { Work } from "../work.ts";
import { dials, isPost, once, playOnce } from "./dials.ts";
import { refuse, type Asked } from "./listening.ts";
import type { Serving } from "./serving.ts";
import type { Session } from "./session.ts";

const RETURN_MS = 10_000;
/** Beside the 35 s of the rule. */
const SILENT_MS = 45_000;
const AGAIN_MS = 1000;
/** A clock of its own may run a little ahead. */
const EARLY_MS = 100;
const AWAY_MS = 3000;
/** With waits that grow there are fewer than that while its Hub is away. */
const MOST_RETURNS = 40;
/** With so many, a satellite that sends now and then has had its answers. */
const MOST_QUESTIONS = 20;

/** Broken streams and lost answers, of a satellite that dials in (rules HTP-6 to HTP-9). */
export const comebackChecks: Check[] = [
  dials(
    {
      rule: "HTP-6",
      title: "It returns to a stream that broke, with the same Bytebot-Connection and no second bb_sync",
      level: "SHOULD",
      fix: "GET /stream again, at once and then with growing waits, for 10 s",
    },
    async (hub, peer, stage) => {
      await stage.alive(peer);
      const { id } = hub.session!;
      const asked = await returned(hub, () => hub.cut());
      if (asked.headers["bytebot-connection"] !== id)
        throw new Unmet(`GET /stream with Bytebot-Connection: ${id}`, `${asked.method} ${asked.path} with another`);
      await stage.alive(peer);
    },
  ),
  dials(
    {
      rule: "HTP-6",
      title: "While its Hub is away, it waits longer from one return to the next",
      level: "SHOULD",
      fix: "wait 50 ms, then twice as long each time",
    },
    async (hub, peer, stage) => {
      await stage.alive(peer);
      let count = 0;
      hub.play = (asked) => {
        count++;
        asked.response.destroy();
        return true;
      };
      await returned(hub, () => hub.cut());
      await pause(AWAY_MS);
      hub.play = undefined;
      if (count > MOST_RETURNS) throw new Unmet("waits that grow", `${count} requests in ${AWAY_MS / 1000} s`);
    },
  ),
  dials(
    {
      rule: "HTP-7",
      title: "It says at its return how many events it has had",
      level: "SHOULD",
      fix: "count the events of the stream, and send Bytebot-Received",
    },
    async (hub, peer, stage) => {
      await stage.alive(peer);
      const { headers } = await returned(hub, () => hub.cut());
      if (headers["bytebot-received"] === undefined) throw new Unmet("Bytebot-Received", "GET /stream without it");
    },
  ),
  dials(
    {
      rule: "HTP-7",
      title: "It counts every event of the stream, also one it does not know, and no empty line",
      fix: "count each line that is not blank, before it is looked at; what an inbox answers does not count",
    },
    async (hub, peer, stage) => {
      const session = await shaken(hub, peer, stage);
      counts(session, await returned(hub, () => hub.cut()));
    },
  ),
  dials(
    {
      rule: "HTP-7",
      title: "What a break cut in mid-line did not arrive: it is taken when it comes again, once",
      fix: "count a line when its 0x0A has come, and drop what is left over when the stream breaks",
    },
    async (hub, peer, stage) => {
      const session = await shaken(hub, peer, stage);
      const work = await stage.question(peer);
      const line = encode(work.event);
      const asked = await returned(hub, async () => {
        await hub.cut(line.slice(0, -10));
        peer.send(work.event);
      });
      counts(session, asked, 1);
      await stage.answer(peer, work, stage.questionMs());
      await stage.alive(peer);
      once(peer, [work]);
    },
  ),
  dials(
    {
      rule: "HTP-8",
      title: "Its inbox requests are numbered upwards in Bytebot-Batch, but for that of its bb_sync",
      fix: "1 for the first request after bb_sync, one more for each that is new",
    },
    async (hub, peer, stage) => {
      for (let n = 0; n < 3; n++) await stage.alive(peer);
      const numbers = hub.seen.filter(isPost).map(({ headers }) => headers["bytebot-batch"]?.toString());
      if (numbers.every((number) => number === undefined)) throw new Inapplicable("it does not number them");
      const odd = numbers.find((number, at) => !isNext(number, numbers[at - 1]));
      if (numbers.includes(undefined) || odd !== undefined)
        throw new Unmet("rising whole numbers from 1", numbers.map((number) => number ?? "none").join(", "));
      if (hub.seen[0]?.headers["bytebot-batch"] !== undefined)
        throw new Unmet("no Bytebot-Batch at bb_sync", String(hub.seen[0].headers["bytebot-batch"]));
    },
  ),
  dials(
    {
      rule: "HTP-8",
      title: "An inbox request whose answer was lost is sent again, unchanged, under its number",
      level: "SHOULD",
      fix: "keep the request until its answer has come; where the socket broke, send it once more",
    },
    async (hub, peer, stage) => {
      const work = await stage.question(peer);
      const again = await repeated(hub, peer, work, (asked) => {
        // It arrived, and is done; its answer does not arrive.
        asked.response.destroy();
        hub.answer(asked);
      });
      if (again) await stage.alive(peer);
      once(peer, [work]);
    },
  ),
  ...[[429, "overloaded"] as const, [503, "unavailable"] as const].map(([status, code]) =>
    dials(
      {
        rule: "ERR-1",
        title: `What is refused with ${status} and retryable is sent again, not before retry_after_ms`,
        level: "SHOULD",
        fix: "wait as long as retry_after_ms or Retry-After say, then send the same request again",
      },
      async (hub, peer, stage) => {
        const work = await stage.question(peer);
        let refusedAt = 0;
        const again = await repeated(hub, peer, work, (asked) => {
          refusedAt = performance.now();
          refuse(asked, status, code, "too much at once", AGAIN_MS);
        });
        const ms = Math.round(again.at - refusedAt);
        if (ms < AGAIN_MS - EARLY_MS) throw new Unmet(`the same request after ${AGAIN_MS} ms`, `it after ${ms} ms`);
        await stage.answer(peer, work, stage.questionMs());
      },
    ),
  ),
  dials(
    {
      rule: "HTP-9",
      title: "It takes a stream that is silent for 35 s for broken, and returns",
      level: "SHOULD",
      fix: "set a read timeout of 35 s on the stream: a live one says something every 15 s",
    },
    async (hub) => {
      hub.silent = true;
      const before = hub.seen.length;
      await hub.next("GET /stream within 45 s", isReturn(hub, before), SILENT_MS);
    },
  ),
];

function isReturn(hub: Serving, before: number): (asked: Asked) => boolean {
  return (asked) => asked.method === "GET" && hub.seen.indexOf(asked) >= before;
}

/** Does something to its stream, and waits until it is back. */
async function returned(hub: Serving, work: () => Promise<void>): Promise<Asked> {
  const before = hub.seen.length;
  await work();
  return hub.next("a return to its stream, by GET /stream", isReturn(hub, before), RETURN_MS);
}

/** What counts and what does not, all of it read: a line that a reset overtakes would not come at all. */
async function shaken(hub: Serving, peer: Peer, stage: Stage): Promise<Session> {
  const stream = await hub.streaming();
  const session = hub.session!;
  peer.send(...strange(stage.scope(peer)).slice(0, 2));
  stream.write("\n \n");
  for (let n = 0; n < MOST_QUESTIONS; n++) {
    const before = session.lines.length;
    await stage.alive(peer);
    // What it sends of its own accord, a UI's input, is answered on the stream, behind the question.
    if (session.lines.length === before + 1) return session;
  }
  throw new Inapplicable("it sends all the time, so that something is always on its way");
}

/** What its return says is how many there were; `late`: of these it cannot know yet. */
function counts({ lines }: Session, { headers }: Asked, late = 0): void {
  const said = headers["bytebot-received"];
  if (said === undefined) throw new Inapplicable("it does not say how many events it has had");
  const were = lines.length - late;
  if (said !== String(were)) throw new Unmet(`Bytebot-Received: ${were}`, `Bytebot-Received: ${String(said)}`);
}

/** Plays the request that carries the answer to a question, and waits for the same one again. */
async function repeated(hub: Serving, peer: Peer, work: Work, run: (asked: Asked) => void): Promise<Asked> {
  let first: Asked | undefined;
  playOnce(hub, isPost, (asked) => {
    first = asked;
    run(asked);
  });
  peer.send(work.event);
  await hub.next("an inbox request", (asked) => asked === first, RETURN_MS);
  const { body, headers } = first!;
  const isAgain = (asked: Asked): boolean => isPost(asked) && asked !== first && asked.body === body;
  const again = await hub.next("the same inbox request again", isAgain, RETURN_MS);
  const [was, is] = [headers["bytebot-batch"], again.headers["bytebot-batch"]];
  if (was !== is) throw new Unmet(`Bytebot-Batch: ${String(was)} again`, `Bytebot-Batch: ${String(is)}`);
  return again;
}

function isNext(number: string | undefined, before: string | undefined): boolean {
  return number !== undefined && /^\d{1,15}$/.test(number) && Number(number) > Number(before ?? 0);
}
