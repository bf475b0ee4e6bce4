import type { Event } from "../../src/wire/index.ts";
import type { Line } from "./recorder.ts";
import type { Script } from "./script.ts";
import type { Recording } from "./ways.ts";

/** The first line of a transcript is of this moment, each other of a millisecond later. */
const BEGIN = 1_764_000_000_000;
/** Random, of the Hub and of the SDK: in text too, where one is named. */
const RANDOM = /\b([a-z]{1,2})_(?:[0-9a-f]{32}|[0-9a-f]{20})\b/g;
/** Of an event: its entry's, then a dot and its index in it. */
const CURSOR = /^(.*:\d+)(\.\d+)$/;
/** When the app stops, who says it first depends on the transport. */
const STOPPING = new Set(["stopped", "the transcript is over", "the Hub is closing"]);
/** What the Hub itself acknowledges; an inbox acknowledges everything (rule HTP-4). */
const ACKNOWLEDGED = new Set(["user_event", "interrupt", "input_reply"]);

/** The transcript: one event a line, whose it is as `from`, or for whom the Hub sent it as `to`. */
export function transcript(script: Script, recording: Recording): string {
  const rename = renames(script, recording);
  const written = ofHub(recording).map(({ role, way, event }, index) => {
    const { event_type, ...fields } = rename(event);
    const whose = way === "sent" ? { from: role } : { to: role };
    return JSON.stringify(ordered(at({ event_type, ...whose, ...fields }, BEGIN + index)));
  });
  return `${written.join("\n")}\n`;
}

/** The log, in the same words. */
export function logOf(script: Script, recording: Recording): Event[] {
  return recording.log.map(renames(script, recording));
}

/**
 * What each connection carried, each way, by `to ui` and `from ui`: what a transcript says, whatever the order between
 * them. The Hub's answers are by themselves: over HTTP they come beside the stream (rule HTP-4).
 */
export function lanes(transcript: string): Record<string, Event[]> {
  const lanes: Record<string, Event[]> = {};
  for (const text of transcript.trimEnd().split("\n")) {
    const line = at(JSON.parse(text) as Event, 0);
    const { event_type, to, from } = line as Event & { to?: string; from?: string };
    const answer = event_type === "bb_ack" || event_type === "bb_error" ? ", answers" : "";
    const lane = to === undefined ? `from ${from}` : `to ${to}${answer}`;
    (lanes[lane] ??= []).push(line);
  }
  return lanes;
}

/** What one connection carried, one way. */
function of(lines: readonly Line[], role: string, way: Line["way"]): Event[] {
  return lines.flatMap((line) => (line.role === role && line.way === way ? [line.event] : []));
}

/** The lines without those that a transport adds, or that end the app. */
function ofHub({ lines }: Recording): Line[] {
  return lines.filter(({ role, way, event }) => {
    if (event.event_type === "bb_bye") return !STOPPING.has(String(event["reason"]));
    if (event.event_type !== "bb_ack" || way === "sent") return true;
    const asked = of(lines, role, "sent").find(({ id }) => id === event["in_reply_to"]);
    return asked !== undefined && ACKNOWLEDGED.has(asked.event_type);
  });
}

/**
 * An event without what differs in each run: random ids are counted from 1, `seq` counts the events of the log and `cursor`
 * with it, and the Hub's clock stands still. Equal values get equal names, and the same whatever the transport.
 */
function renames({ cast }: Script, recording: Recording): (event: Event) => Event {
  const { log } = recording;
  const lines = ofHub(recording);
  // In an order that no transport changes: the log, then connection by connection.
  const events = [...log, ...cast.flatMap(({ name }) => [...of(lines, name, "got"), ...of(lines, name, "sent")])];
  const names = new Map<string, string>();
  const counts = new Map<string, number>();
  for (const [id, prefix] of events.flatMap((event) => [...JSON.stringify(event).matchAll(RANDOM)])) {
    if (names.has(id)) continue;
    const count = (counts.get(prefix!) ?? 0) + 1;
    counts.set(prefix!, count);
    names.set(id, `${prefix}_${count}`);
  }
  const seqs = new Map<unknown, number>();
  const cursors = new Map<string, number>();
  for (const [index, { seq, cursor }] of log.entries()) {
    const [, entry = "", place = ""] = CURSOR.exec(String(cursor)) ?? [];
    seqs.set(seq, index + 1);
    cursors.set(`${entry}${place}`, index + 1);
    // An entry's own is behind the last of its events.
    cursors.set(entry, index + 1);
  }
  const [first = ""] = cursors.keys();
  if (first !== "") cursors.set(first.replace(/:[^:]*$/, ":0"), 0);
  return (event) => {
    const text = JSON.stringify(event).replaceAll(RANDOM, (id) => names.get(id)!);
    return at(JSON.parse(text) as Event, 0, seqs, cursors);
  };
}

type Places = ReadonlyMap<unknown, number>;

/** At another time: deadlines keep their distance. In events within events too. */
function at<Value>(value: Value, ts: number, seqs?: Places, cursors?: Places): Value {
  const found = cursors?.get(value);
  if (found !== undefined) return `log:${found}` as Value;
  if (Array.isArray(value)) return value.map((item: unknown) => at(item, ts, seqs, cursors)) as Value;
  if (typeof value !== "object" || value === null) return value;
  const sent = Number((value as { ts?: unknown }).ts);
  const moved = Object.entries(value).map(([key, item]: [string, unknown]) => {
    if (key === "ts") return [key, ts];
    if (key === "deadline_ts" || key === "expires_at") return [key, ts + Number(item) - sent];
    if (key === "seq") return [key, seqs?.get(item) ?? item];
    if (key === "hub") return [key, { name: "bytebot", version: "0.0.0" }];
    return [key, at(item, ts, seqs, cursors)];
  });
  return Object.fromEntries(moved) as Value;
}

const FIRST =
  "event_type to from kind type role id in_reply_to call_id name scope loop_id round attempt index n block_type".split(
    " ",
  );
const LAST = "seq cursor ts".split(" ");

/** One order of keys: what an event is and belongs to, then what it says, then its place in the log. */
function ordered<Value>(value: Value): Value {
  if (Array.isArray(value)) return value.map(ordered) as Value;
  if (typeof value !== "object" || value === null) return value;
  const rank = (key: string): number => {
    const first = FIRST.indexOf(key);
    return first !== -1 ? first - FIRST.length : LAST.indexOf(key) + 1;
  };
  const entries = Object.entries(value).sort(([a], [b]) => rank(a) - rank(b) || (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, item]: [string, unknown]) => [key, ordered(item)])) as Value;
}
