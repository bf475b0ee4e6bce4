import { encode, kinds, type Event } from "../../wire/index.ts";
import { Unmet, type Check } from "../check.ts";
import type { Peer } from "../peer.ts";
import type { Stage } from "../stage.ts";
import { newId, type Work } from "../work.ts";
import type { Answer } from "./ask.ts";
import type { Dialing } from "./dialing.ts";

/** What is seen of a satellite that serves HTTP, where it is connected and answers. */
export function serves(
  check: Omit<Check, "kinds" | "over" | "run">,
  run: (http: Dialing, peer: Peer, stage: Stage) => Promise<unknown>,
): Check {
  return {
    kinds,
    over: "serves",
    needs: "handshake",
    ...check,
    run: async (stage) => {
      const peer = await stage.attach();
      // What is posted from here on is posted by the check alone.
      peer.polite = false;
      await peer.dialing.flushed();
      return run(peer.dialing, peer, stage);
    },
  };
}

/** So long it has for what is no answer of its author's: a status, the end of a stream. */
export const SOON_MS = 5000;
/** It sends a sign of life every 15 s; a busy machine may be late. */
const ALIVE_MS = 20_000;

export const servesChecks: Check[] = [
  serves(
    {
      rule: "HTP-1",
      title: "While it is connected to a Hub, another one gets 409 and conflict",
      fix: "serve one connection: a GET /stream with a new Bytebot-Connection meanwhile is answered 409",
    },
    async (http, peer, stage) => {
      const headers = { "bytebot-connection": newId("k") };
      refused(await askStream(http, headers), 409, "conflict", "GET /stream of another Hub");
      await stage.alive(peer);
    },
  ),
  serves(
    {
      rule: "HTP-1",
      title: "A connection that it does not know, and that had events, is lost: 404",
      fix: "a new Bytebot-Connection begins a connection where Bytebot-Received is 0 or absent; else answer 404",
    },
    async (http, _peer, stage) => {
      await http.close("another one is asked for");
      const headers = { "bytebot-connection": newId("k"), "bytebot-received": "3" };
      const answer = await whenFree(() => askStream(http, headers), stage.within("sync"));
      refused(answer, 404, "not_found", "GET /stream of a connection it does not know, with Bytebot-Received: 3");
    },
  ),
  serves(
    { rule: "HTP-3", title: "An inbox request of a connection that it does not know gets 404" },
    async (http, peer, stage) => {
      const { event } = await stage.question(peer);
      const answer = await http.post(encode(event), { "bytebot-connection": newId("k") }, SOON_MS);
      refused(answer, 404, "not_found", "POST /inbox with another Bytebot-Connection");
    },
  ),
  serves(
    {
      rule: "HTP-3",
      title: "DELETE /stream ends the connection at once: 200, the stream ends, its inbox is gone",
      fix: "end the stream's answer, and forget the connection",
    },
    async (http, peer, stage) => {
      http.byHand = true;
      const answer = await http.asker.ask(http.target.stream, { method: "DELETE", headers: http.ours }, SOON_MS);
      if (answer.status !== 200) throw new Unmet("200 to DELETE /stream", said(answer));
      await ends(http.stream, "the end of the stream after DELETE /stream");
      const { event } = await stage.question(peer);
      refused(await http.post(encode(event), {}, SOON_MS), 404, "not_found", "POST /inbox after DELETE /stream");
    },
  ),
  serves(
    {
      rule: "HTP-3",
      title: "A newer GET /stream takes the place of the older one",
      fix: "end the older answer, and write to the newer",
    },
    async (http, peer, stage) => {
      http.byHand = true;
      const older = http.stream;
      await http.return({ "bytebot-received": String(http.received) }, SOON_MS);
      await ends(older, "the end of the older stream");
      await stage.alive(peer);
    },
  ),
  serves(
    {
      rule: "HTP-5",
      title: "Its stream is application/x-ndjson, and no cache or proxy may hold it back",
      fix: "Content-Type: application/x-ndjson, Cache-Control: no-cache, no-transform, X-Accel-Buffering: no",
    },
    (http) => {
      const {
        "content-type": type = "",
        "cache-control": cache = "",
        "x-accel-buffering": held,
      } = http.stream.response.headers;
      const wanted =
        /^application\/x-ndjson\b/.test(type) && /no-cache/.test(cache) && /no-transform/.test(cache) && held === "no";
      if (wanted) return Promise.resolve();
      const got = `Content-Type: ${type}, Cache-Control: ${cache}, X-Accel-Buffering: ${String(held ?? "")}`;
      throw new Unmet("these three headers", got);
    },
  ),
  serves(
    {
      rule: "HTP-5",
      title: "Where Accept names text/event-stream each event comes as one data field",
      level: "SHOULD",
      fix: "Content-Type: text/event-stream, and each line as data: …, with an empty line after it",
    },
    async (http, peer, stage) => {
      http.byHand = true;
      http.stream.cut();
      const headers = { accept: "text/event-stream", "bytebot-received": String(http.received) };
      const stream = await http.get(headers, SOON_MS);
      if (!stream.isSse) throw new Unmet("text/event-stream", said(await bodyless(stream)));
      const question = await stage.question(peer);
      await http.post(encode(question.event), {}, SOON_MS);
      await stream.until(question.expected, () => answered(stream.lines, question), stage.questionMs());
      await stream.until("an empty line after each event", ({ text }) => /\n\r?\n$/.test(text), SOON_MS);
      const odd = stream.text.split(/\r?\n/).find((field) => !/^(?:(?:data|id|event|retry)?:.*)?$/.test(field));
      if (odd !== undefined) throw new Unmet("fields of server-sent events", JSON.stringify(odd.slice(0, 200)));
      const glued = /^data:.*\r?\ndata:/m.exec(stream.text)?.[0];
      if (glued !== undefined) throw new Unmet("one data field for each event", JSON.stringify(glued.slice(0, 200)));
    },
  ),
  serves(
    {
      rule: "HTP-9",
      title: "A stream that has nothing to say sends an empty line every 15 s",
      fix: "write a 0x0A where nothing was written for 15 s: a Hub takes a silent stream for broken",
    },
    async (http) => {
      const { stream } = http;
      // What it says meanwhile is a sign of life as well: then it is quiet from there on.
      for (let lines = -1; stream.signs === 0 && lines !== stream.lines.length;) {
        lines = stream.lines.length;
        const says = (): boolean => stream.signs > 0 || stream.lines.length > lines;
        await stream.until("an empty line within 20 s", says, ALIVE_MS);
      }
    },
  ),
];

/** Refused as a whole: the status of a code, and one line that says it. */
export function refused(answer: Answer, status: number, code: string, what: string): void {
  const expected = `${status} and bb_error ${code} to ${what}`;
  const [line, ...more] = answer.lines;
  const event = line === undefined ? undefined : parsed(line);
  const right = answer.status === status && event?.event_type === "bb_error" && event["code"] === code;
  if (!right || more.length > 0) throw new Unmet(expected, said(answer));
}

export function said({ status, lines }: Answer): string {
  return `${status} ${lines.slice(0, 3).join(" ").slice(0, 300)}`.trim();
}

export function parsed(line: string): Event | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Event) : undefined;
  } catch {
    return undefined;
  }
}

export function answered(lines: readonly string[], { answers }: Work): boolean {
  return lines.some((line) => {
    const event = parsed(line);
    return event !== undefined && answers(event);
  });
}

/** A GET of the stream that is no return: what it is answered with; where that is a stream, it is broken off. */
export async function askStream(http: Dialing, headers: Record<string, string>): Promise<Answer> {
  const all = { accept: "application/x-ndjson", ...headers };
  const stream = await http.get(all, SOON_MS);
  return bodyless(stream);
}

/** The head of a stream as an answer; the lines of one that was refused. */
export async function bodyless(stream: Awaited<ReturnType<Dialing["get"]>>): Promise<Answer> {
  const { statusCode = 0, headers } = stream.response;
  if (statusCode === 200) stream.cut();
  else await Promise.race([stream.over, later(SOON_MS)]);
  return { status: statusCode, headers, lines: stream.lines };
}

/** The connection that was just left may still be ending. */
export async function whenFree(ask: () => Promise<Answer>, ms: number): Promise<Answer> {
  const until = Date.now() + ms;
  for (;;) {
    const answer = await ask();
    if (answer.status !== 409 || Date.now() > until) return answer;
    await later(100);
  }
}

export async function ends(stream: Dialing["stream"], expected: string): Promise<void> {
  await Promise.race([stream.over, later(SOON_MS)]);
  if (stream.end === undefined) throw new Unmet(expected, `a stream that is open after ${SOON_MS / 1000} s`);
}

export function later(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
