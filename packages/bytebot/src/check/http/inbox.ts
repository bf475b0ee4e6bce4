import { setTimeout as pause } from "node:timers/promises";
import { encode } from "../../wire/index.ts";
import { Unmet, type Check } from "../check.ts";
import { allAnswered, linesOf } from "../requests.ts";
import type { Peer } from "../peer.ts";
import type { Stage } from "../stage.ts";
import { newId, type Work } from "../work.ts";
import { answerOf, headOf, type Answer } from "./ask.ts";
import type { Dialing } from "./dialing.ts";
import { parsed, refused, said, serves, SOON_MS } from "./serves.ts";

const MOST_LINES = 10_000;
const MOST_POSTS = 4;
/** A request that is held up is on its way for so long before the next one is sent. */
const HELD_MS = 200;
const REFUSED_MS = 2000;

/** The inbox of a satellite that serves (rules HTP-4 and HTP-8). */
export const inboxChecks: Check[] = [
  serves(
    {
      rule: "HTP-4",
      title: "Each line of an inbox request is answered with one line, in order: bb_ack, or bb_error where it is none",
      fix: 'for each line that is not blank answer {"event_type":"bb_ack"} or a bb_error, one a line',
    },
    async (http, peer, stage) => {
      const works = [await stage.question(peer), await stage.question(peer)];
      const id = newId("x");
      const vendor = { event_type: "com.example/typing", id, scope: stage.scope(peer) };
      const [first, last] = works.map(({ event }) => encode(event)) as [string, string];
      const body = `${first}not JSON\n \n${encode(vendor)}["an", "array"]\n${last}`;
      const { status, lines } = await http.post(body, { "bytebot-batch": String(++http.batch) }, SOON_MS);
      const types = lines.map((line) => parsed(line)?.event_type);
      const wanted = ["bb_ack", "bb_error", "bb_ack", "bb_error", "bb_ack"];
      if (status !== 200 || types.join() !== wanted.join())
        throw new Unmet(`200 and ${wanted.join(", ")}`, `${status} and ${types.join(", ") || "nothing"}`, [
          { from: "hub", line: body.slice(0, 300) },
        ]);
      const named = parsed(lines[2]!)?.["in_reply_to"];
      if (named !== undefined && named !== id) throw new Unmet(`"in_reply_to":"${id}"`, JSON.stringify(named));
      await allCame(stage, peer, works);
    },
  ),
  serves(
    {
      rule: "HTP-4",
      title: "What is no lines of JSON, or has a Content-Encoding, is refused with 415",
      fix: "look at Content-Type (application/x-ndjson or application/json) and Content-Encoding first",
    },
    async (http, peer, stage) => {
      const { event } = await stage.question(peer);
      for (const headers of [{ "content-type": "text/plain" }, { "content-encoding": "gzip" }]) {
        const { status, lines } = await http.post(encode(event), headers, SOON_MS);
        if (status !== 415) throw new Unmet(`415 to ${JSON.stringify(headers)}`, said({ status, lines, headers }));
      }
      await stage.alive(peer);
    },
  ),
  serves(
    {
      rule: "HTP-4",
      title: "An inbox request is worked on when the one before it is: events keep their order",
      fix: "take the next request when the last one is answered; do not read two bodies at once",
    },
    async (http, peer, stage) => {
      const [first, second] = [await stage.question(peer), await stage.question(peer)] as [Work, Work];
      const held = hold(http, encode(first.event));
      await held.sent;
      const next = http.post(encode(second.event), {}, stage.questionMs() + SOON_MS);
      next.catch(() => undefined);
      await pause(HELD_MS);
      held.finish();
      await Promise.all([held.answer, next]);
      await Promise.all([stage.answer(peer, first), stage.answer(peer, second)]);
      const events = peer.events();
      if (events.findIndex(first.answers) > events.findIndex(second.answers))
        throw new Unmet("the answer to the first request first", "that to the second", linesOf(events.slice(-2)));
    },
  ),
  serves(
    {
      rule: "HTP-4",
      title: "More than four inbox requests at once get 429 and overloaded",
      level: "SHOULD",
      fix: "count the requests that wait, and refuse the fifth",
    },
    async (http, peer, stage) => {
      const first = await stage.question(peer);
      const held = hold(http, encode(first.event));
      await held.sent;
      const others: Promise<Answer>[] = [];
      for (let n = 0; n <= MOST_POSTS; n++) {
        const { event } = await stage.question(peer);
        others.push(http.post(encode(event), {}, 2 * SOON_MS));
      }
      const isRefused = others.map(async (other) => assertRefused(await other));
      await Promise.race([Promise.any(isRefused).catch(() => undefined), pause(REFUSED_MS)]);
      held.finish();
      const answers = await Promise.all([held.answer, ...others]);
      const over = answers.filter(({ status }) => status !== 200);
      if (over.length === 0) throw new Unmet(`429 to one of ${answers.length} requests at once`, "200 to each");
      for (const answer of over) refused(answer, 429, "overloaded", `one of ${answers.length} requests at once`);
    },
  ),
  serves(
    {
      rule: "HTP-4",
      title: "A request of 10,000 lines is taken, a longer one refused with 413",
      fix: "count the lines of a request",
    },
    async (http, peer, stage) => {
      const line = encode({ event_type: "com.example/typing", scope: stage.scope(peer) });
      const ms = stage.questionMs() + SOON_MS;
      const taken = await http.post(line.repeat(MOST_LINES), { "bytebot-batch": String(++http.batch) }, ms);
      if (taken.status !== 200 || taken.lines.length !== MOST_LINES)
        throw new Unmet("200 and 10,000 lines to 10,000", `${taken.status} and ${taken.lines.length} lines`);
      const over = await http.post(line.repeat(MOST_LINES + 1), { "bytebot-batch": String(++http.batch) }, ms);
      if (over.status !== 413) throw new Unmet("413 to 10,001 lines", `${over.status}`);
      await stage.alive(peer);
    },
  ),
  serves(
    {
      rule: "HTP-8",
      title: "An inbox request that comes again under its number is answered the same, and not taken twice",
      fix: "keep the newest Bytebot-Batch of a connection, and what it was answered",
    },
    async (http, peer, stage) => {
      const work = await stage.question(peer);
      const headers = { "bytebot-batch": String(++http.batch) };
      const [first, again] = [
        await http.post(encode(work.event), headers, SOON_MS),
        await http.post(encode(work.event), headers, SOON_MS),
      ];
      if (again.status !== first.status || again.lines.join() !== first.lines.join())
        throw new Unmet(`the same answer again: ${said(first)}`, said(again));
      await allCame(stage, peer, [work]);
    },
  ),
  serves(
    { rule: "HTP-8", title: "An inbox request with a number below the newest gets 409" },
    async (http, peer, stage) => {
      const [first, late] = [await stage.question(peer), await stage.question(peer)] as [Work, Work];
      http.batch += 2;
      await http.post(encode(first.event), { "bytebot-batch": String(http.batch) }, SOON_MS);
      const answer = await http.post(encode(late.event), { "bytebot-batch": String(http.batch - 1) }, SOON_MS);
      refused(answer, 409, "conflict", `request ${http.batch - 1} after request ${http.batch}`);
    },
  ),
  serves(
    {
      rule: "HTP-8",
      title: "Of an inbox request that broke in mid-line, and comes again, each line is taken once",
      fix: "either take no line of a body that is not whole, or skip as many when it comes again",
    },
    async (http, peer, stage) => {
      const works = [await stage.question(peer), await stage.question(peer), await stage.question(peer)];
      const body = works.map(({ event }) => encode(event)).join("");
      const number = { "bytebot-batch": String(++http.batch) };
      const broken = hold(http, body, number, encode(works[0]!.event).length + 20);
      broken.answer.catch(() => undefined);
      await broken.sent;
      broken.request.destroy();
      const answer = await http.post(body, number, 2 * SOON_MS);
      if (answer.status !== 200 || answer.lines.length !== works.length)
        throw new Unmet(`200 and ${works.length} lines`, said(answer));
      await allCame(stage, peer, works);
    },
  ),
];

/** An inbox request of which the end is not sent yet. */
function hold(http: Dialing, body: string, headers: Record<string, string> = {}, until = body.length - 5) {
  const { inbox } = http.target;
  const all = { ...http.posting(headers), "content-length": String(Buffer.byteLength(body)) };
  const request = http.asker.begin(inbox, { method: "POST", headers: all });
  const answer = headOf(request, inbox, 4 * SOON_MS).then((response) => answerOf(response, inbox, SOON_MS));
  answer.catch(() => undefined);
  const sent = new Promise<void>((resolve) => request.write(body.slice(0, until), () => resolve())).then(() =>
    pause(HELD_MS),
  );
  return { request, answer, sent, finish: () => void request.end(body.slice(until)) };
}

function assertRefused({ status }: Answer): void {
  if (status === 200) throw new Error("it was taken");
}

/** Each was answered, and none twice. */
async function allCame(stage: Stage, peer: Peer, works: readonly Work[]): Promise<void> {
  for (const { key, event } of works) peer.asked.set(key, event);
  await allAnswered(stage, peer, works);
  for (const { answers, key } of works) {
    const mine = peer.events().filter(answers);
    if (mine.length > 1) throw new Unmet(`one answer to ${key}`, `${mine.length}`, linesOf(mine));
  }
}
