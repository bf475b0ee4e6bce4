import { isDeepStrictEqual } from "node:util";
import { ackNameOf, encode } from "../../wire/index.ts";
import { Inapplicable, Unmet, type Check } from "../check.ts";
import type { Peer } from "../peer.ts";
import type { Stage } from "../stage.ts";
import { shown } from "../trace.ts";
import { newId } from "../work.ts";
import type { Dialing } from "./dialing.ts";
import type { Stream } from "./stream.ts";
import { answered, askStream, bodyless, parsed, refused, said, serves, SOON_MS } from "./serves.ts";

/** Returns to the stream of a satellite that serves (rules HTP-6, HTP-7 and HTP-10). */
export const returnChecks: Check[] = [
  serves(
    {
      rule: "HTP-6",
      title: "A connection outlives its stream: what happens while that is away comes when it is back",
      fix: "keep the connection and queue its events for 10 s after its stream broke, and say no bb_sync again",
    },
    async (http, peer, stage) => {
      http.byHand = true;
      const question = await stage.question(peer);
      http.stream.cut();
      await http.stream.over;
      const { status, lines } = await http.post(encode(question.event), {}, SOON_MS);
      if (status !== 200)
        throw new Unmet("200 to POST /inbox while its stream is away", `${status} ${lines.join(" ")}`);
      await http.return({ "bytebot-received": String(http.received) }, SOON_MS);
      await stage.answer(peer, question, stage.questionMs());
      if (peer.events("bb_sync").length > 1) throw new Unmet("one bb_sync", "another one", peer.trace.last());
    },
  ),
  serves(
    {
      rule: "HTP-7",
      title: "A return goes on after exactly as many events as Bytebot-Received says, or gets 404",
      fix: "count the events of the stream as written; when the Hub returns, go back to its count",
    },
    async (http, peer, stage) => {
      const { before, stream } = await back(http, peer, stage);
      if (stream.response.statusCode !== 200) return refused(await bodyless(stream), 404, "not_found", "a return");
      const question = await stage.question(peer);
      await http.post(encode(question.event), {}, SOON_MS);
      await stream.until(question.expected, () => answered(stream.lines, question), stage.questionMs());
      for (const [at, line] of before.slice(-MISSED).entries()) {
        const got = stream.lines[at];
        if (got === undefined || !isDeepStrictEqual(parsed(got), parsed(line)))
          throw new Unmet(`event ${before.length - MISSED + at + 1} again: ${shown(line)}`, shown(got ?? "nothing"));
      }
      const twice = stream.lines.slice(MISSED).find((line) => before.includes(line));
      if (twice !== undefined) throw new Unmet("what is new, after what was missed", shown(twice));
    },
  ),
  serves(
    {
      rule: "HTP-7",
      title: "It keeps what it wrote for a return, 512 Ki characters of it",
      level: "SHOULD",
      fix: "keep the newest lines after they were written",
    },
    async (http, peer, stage) => {
      const { stream } = await back(http, peer, stage);
      if (stream.response.statusCode !== 200) throw new Unmet("200 to a return", said(await bodyless(stream)));
    },
  ),
  serves(
    {
      rule: "HTP-7",
      title: "A return that has had more events than there were gets 404",
      fix: "that is another connection: never leave out what comes next",
    },
    async (http) => {
      http.byHand = true;
      http.stream.cut();
      const headers = { "bytebot-received": String(http.received + 5) };
      const what = `a return with Bytebot-Received: ${http.received + 5}, of ${http.received}`;
      refused(await askStream(http, headers), 404, "not_found", what);
    },
  ),
  serves(
    {
      rule: "HTP-7",
      title: "A return without Bytebot-Received goes on with what was not written yet",
    },
    async (http, peer, stage) => {
      if (announcesAcks(peer)) throw new Inapplicable("it announces acks: then what has a name comes again (HTP-10)");
      const before = await ask(http, peer, stage);
      http.stream.cut();
      const stream = await opened(http, {});
      const question = await stage.question(peer);
      await http.post(encode(question.event), {}, SOON_MS);
      await stream.until(question.expected, () => answered(stream.lines, question), stage.questionMs());
      const again = stream.lines.find((line) => before.includes(line));
      if (again !== undefined) throw new Unmet("what was not written yet", shown(again));
    },
  ),
  serves(
    {
      rule: "HTP-10",
      title: "Where it announces acks, its inbox names what it acknowledges",
      fix: '{"event_type":"bb_ack","in_reply_to": the event\'s id}',
    },
    async (http, peer, stage) => {
      if (!announcesAcks(peer)) throw new Inapplicable("it announces no acks");
      const id = newId("x");
      const event = { event_type: "com.example/typing", id, scope: stage.scope(peer) };
      const answer = await http.post(encode(event), {}, SOON_MS);
      if (parsed(answer.lines[0] ?? "")?.["in_reply_to"] !== id)
        throw new Unmet(`bb_ack with "in_reply_to":"${id}"`, said(answer));
    },
  ),
  serves(
    {
      rule: "HTP-10",
      title:
        "Where it announces acks, a return without Bytebot-Received gets again what has a name and was not acknowledged",
    },
    async (http, peer, stage) => {
      if (!announcesAcks(peer)) throw new Inapplicable("it announces no acks");
      http.byHand = true;
      await nameSomething(http, peer, stage);
      const named = peer.events().findLast((event) => ackNameOf(event) !== undefined);
      if (!named) throw new Inapplicable("it sent nothing that has a name");
      http.stream.cut();
      const stream = await opened(http, {});
      const isIt = (line: string): boolean => isDeepStrictEqual(parsed(line), named);
      await stream.until(`again: ${shown(JSON.stringify(named))}`, () => stream.lines.some(isIt), SOON_MS);
    },
  ),
];

/** So many events a return has missed. */
const MISSED = 2;
/** What the Hub has had need not be kept: then it is not said. */
const UNCOUNTED = { "bytebot-received": "" };

/** Some events of the stream, as lines, all of which have come. */
async function ask(http: Dialing, peer: Peer, stage: Stage): Promise<string[]> {
  http.byHand = true;
  for (let n = 0; n <= MISSED; n++) {
    const question = await stage.question(peer);
    await http.post(encode(question.event), UNCOUNTED, SOON_MS);
    await stage.answer(peer, question, stage.questionMs());
  }
  return [...http.stream.lines];
}

/** A return that has missed the last events. */
async function back(http: Dialing, peer: Peer, stage: Stage): Promise<{ before: string[]; stream: Stream }> {
  const before = await ask(http, peer, stage);
  http.stream.cut();
  const headers = { "bytebot-received": String(before.length - MISSED) };
  return { before, stream: await http.get(headers, SOON_MS) };
}

async function opened(http: Dialing, headers: Record<string, string>): Promise<Stream> {
  const stream = await http.get(headers, SOON_MS);
  if (stream.response.statusCode !== 200) throw new Unmet("200 to a return", said(await bodyless(stream)));
  return stream;
}

/** A request of its kind: its answer has a name. */
async function nameSomething(http: Dialing, peer: Peer, stage: Stage): Promise<void> {
  if (stage.kind === "ui" || stage.kind === "telemetry") return;
  const work = await stage.work(peer);
  await http.post(encode(work.event), UNCOUNTED, SOON_MS);
  await stage.answer(peer, work);
}

function announcesAcks(peer: Peer): boolean {
  const { acks } = (peer.sync?.["capabilities"] ?? {}) as { acks?: unknown };
  return acks !== undefined;
}
