import type { Event } from "./codec.ts";
import type { BlockDelta } from "./events/chunk.ts";
import { MAX_BLOCK_INDEX } from "./limits.ts";

/*
 * The one hot event: a delta of text, thousands in a turn. With nothing but its own fields, in one order, it is read,
 * checked and written here by hand; with anything else it takes the general way. Both ways give the same (property-tested).
 */
const ID = /^[\x21-\x7e]{1,128}$/;
/** Visible ASCII but for the quote and the backslash: the same within quotes as without. */
const PLAIN = /^[\x21\x23-\x5b\x5d-\x7e]*$/;
const SEPARATORS = /[\u2028\u2029]/;
/** event_type, kind, index, block_type, delta, in_reply_to. */
const SENT_FIELDS = 6;
/** event_type, kind, index, block_type, delta, scope, loop_id, round, attempt, n, ts. */
const STAMPED_FIELDS = 11;

/** Longer lines gain nothing. */
const MAX_LINE = 4096;
const START = '{"event_type":"infer_chunk",';
const TS = ',"ts":';
const [END, ZERO] = [0x7d, 0x30];
const COUNT_DIGITS = 15;
const NAME = String.raw`"([\x21\x23-\x5b\x5d-\x7e]{1,128})"`;
const COUNT = String.raw`(0|[1-9]\d{0,14})`;
/** A JSON string; whether its escapes are right is for JSON.parse to say. */
const TEXT = String.raw`("[^"\\\x00-\x1f]*(?:\\.[^"\\\x00-\x1f]*)*")`;
const BLOCK = `"kind":"block_delta","index":${COUNT},"block_type":"(text|thinking|tool_use)","delta":${TEXT}`;
const SENT = new RegExp(`^${START}"in_reply_to":${NAME},${BLOCK}}$`);
const PLACE = `"scope":${NAME},"loop_id":${NAME},"round":${COUNT},"attempt":${COUNT}`.replaceAll("(", "(?:");
const STAMPED = new RegExp(`^${START}${BLOCK},(${PLACE}),"n":${COUNT},"ts":${COUNT}}$`);

/** The delta of a line in canonical form; undefined says only that the general way has to look. */
export function decodeDelta(line: string): Event | undefined {
  if (line.length > MAX_LINE) return undefined;
  if (begins(line, sent.start)) return nextSent(line);
  const next = begins(line, block.start) ? nextStamped(line) : undefined;
  if (next || !begins(line, START)) return next;
  return line.startsWith('"in', START.length) ? firstSent(line) : firstStamped(line);
}

/** `startsWith` compares character by character. */
function begins(line: string, start: string): boolean {
  return line.slice(0, start.length) === start;
}

/*
 * Deltas come in runs of one block: what is the same as in the line before is compared, and not read again. A line is
 * `start`, the text as JSON, and what follows it.
 */
let sent = { start: "\n", in_reply_to: "", index: 0, block_type: "" };
let block = { start: "\n", index: 0, block_type: "" };

function firstSent(line: string): Event | undefined {
  const found = SENT.exec(line);
  if (!found) return undefined;
  const delta = parseText(found[4]!);
  if (delta === undefined) return undefined;
  const [index, block_type] = [Number(found[2]), found[3]!];
  const in_reply_to = found[1] === lastReply ? lastReply! : copy(found[1]!);
  // The second of a run.
  if (in_reply_to === lastReply)
    sent = { start: sentStart(in_reply_to, index, block_type), in_reply_to, index, block_type };
  lastReply = in_reply_to;
  return { event_type: "infer_chunk", in_reply_to, kind: "block_delta", index, block_type, delta };
}

function nextSent(line: string): Event | undefined {
  const delta = line.charCodeAt(line.length - 1) === END ? parseText(line.slice(sent.start.length, -1)) : undefined;
  if (delta === undefined) return undefined;
  const { in_reply_to, index, block_type } = sent;
  return { event_type: "infer_chunk", in_reply_to, kind: "block_delta", index, block_type, delta };
}

function firstStamped(line: string): Event | undefined {
  const found = STAMPED.exec(line);
  if (!found) return undefined;
  const delta = parseText(found[3]!);
  if (delta === undefined) return undefined;
  if (found[4] !== lastPlace) learnPlace(found[4]!);
  const [index, block_type] = [Number(found[1]), found[2]!];
  if (index !== block.index || block_type !== block.block_type || block.start === "\n")
    block = { start: blockStart(index, block_type), index, block_type };
  return stamped(index, block_type, delta, Number(found[5]), Number(found[6]));
}

function nextStamped(line: string): Event | undefined {
  const end = line.lastIndexOf(placeEnd);
  if (end < block.start.length) return undefined;
  const comma = line.indexOf(",", end + placeEnd.length);
  const [n, ts] = [countIn(line, end + placeEnd.length, comma), countIn(line, comma + TS.length, line.length - 1)];
  if (n === undefined || ts === undefined || line.slice(comma, comma + TS.length) !== TS) return undefined;
  if (line.charCodeAt(line.length - 1) !== END) return undefined;
  const delta = parseText(line.slice(block.start.length, end));
  return delta === undefined ? undefined : stamped(block.index, block.block_type, delta, n, ts);
}

function stamped(index: number, block_type: string, delta: string, n: number, ts: number): Event {
  const { scope, loop_id, round, attempt } = place;
  const kind = "block_delta";
  return { event_type: "infer_chunk", kind, index, block_type, delta, scope, loop_id, round, attempt, n, ts };
}

/** The count in canonical form that these digits are; undefined where they are none. */
function countIn(line: string, from: number, to: number): number | undefined {
  const length = to - from;
  if (length < 1 || length > COUNT_DIGITS) return undefined;
  let count = 0;
  for (let at = from; at < to; at++) {
    const digit = line.charCodeAt(at) - ZERO;
    if (digit < 0 || digit > 9) return undefined;
    count = count * 10 + digit;
  }
  return length > 1 && line.charCodeAt(from) === ZERO ? undefined : count;
}

function sentStart(in_reply_to: string, index: number, block_type: string): string {
  return `${START}"in_reply_to":"${in_reply_to}",${blockText(index, block_type)}`;
}

function blockStart(index: number, block_type: string): string {
  return `${START}${blockText(index, block_type)}`;
}

function blockText(index: number, block_type: string): string {
  return `"kind":"block_delta","index":${index},"block_type":"${block_type}","delta":`;
}

/* Deltas come in runs of one place: it is read and written once a run. */
let lastReply: string | undefined;
let lastPlace = "";
let placeEnd = "\n";
let place = { scope: "", loop_id: "", round: 0, attempt: 0 };
let lastTime = 0;
let lastTimeText = ',"ts":0}';

function learnPlace(text: string): void {
  const { scope, loop_id, round, attempt } = JSON.parse(`{${text}}`) as typeof place;
  placeText(scope, loop_id, round, attempt);
}

function placeText(scope: string, loop_id: string, round: number, attempt: number): string {
  const same = scope === place.scope && loop_id === place.loop_id;
  if (!same || round !== place.round || attempt !== place.attempt) {
    place = { scope, loop_id, round, attempt };
    lastPlace = `"scope":"${scope}","loop_id":"${loop_id}","round":${round},"attempt":${attempt}`;
    placeEnd = `,${lastPlace},"n":`;
  }
  return placeEnd;
}

/** What is cut from a line keeps the whole read alive: a name may be kept for long. */
function copy(plain: string): string {
  return JSON.parse(`"${plain}"`) as string;
}

/** A JSON string's text, a new one, half characters replaced (rule FRM-8); undefined where its escapes are none. */
function parseText(json: string): string | undefined {
  try {
    return (JSON.parse(json) as string).toWellFormed();
  } catch {
    return undefined;
  }
}

/** A delta as an infer sends it, valid and bare: false says only that the schema has to look. */
export function isSentDelta(event: Event): event is BlockDelta {
  if (event["kind"] !== "block_delta" || fields(event) !== SENT_FIELDS) return false;
  const reply = event["in_reply_to"];
  return typeof reply === "string" && (reply === lastReply || ID.test(reply)) && isDelta(event);
}

/** The line of a bare delta without its newline, in canonical form; undefined says only that the general way has to write it. */
export function encodeDelta(event: Event): string | undefined {
  if (event["kind"] !== "block_delta" || !isDelta(event) || SEPARATORS.test(event.delta)) return undefined;
  const { index, block_type, delta, in_reply_to } = event;
  const text = JSON.stringify(delta);
  const count = fields(event);
  if (count === SENT_FIELDS) {
    if (!isPlain(in_reply_to)) return undefined;
    return `${startOf(index, block_type, in_reply_to)}${text}}`;
  }
  const { scope, loop_id, round, attempt, n, ts } = event;
  if (count !== STAMPED_FIELDS || !isPlain(scope) || !isPlain(loop_id)) return undefined;
  if (!isCount(round) || !isCount(attempt) || !isCount(n) || !isCount(ts)) return undefined;
  if (ts !== lastTime) lastTimeText = `,"ts":${(lastTime = ts)}}`;
  return `${startOf(index, block_type)}${text}${placeText(scope, loop_id, round, attempt)}${n}${lastTimeText}`;
}

/** What was written last up to the text, and of which block; `in_reply_to` of a delta as it is sent. */
let written: { start: string; index: number; block_type: string; in_reply_to: string | undefined } | undefined;

function startOf(index: number, block_type: string, in_reply_to?: string): string {
  const same = written?.index === index && written.block_type === block_type && written.in_reply_to === in_reply_to;
  if (written && same) return written.start;
  const start = in_reply_to === undefined ? blockStart(index, block_type) : sentStart(in_reply_to, index, block_type);
  written = { start, index, block_type, in_reply_to };
  return start;
}

/** A delta as the Hub stamps it, with nothing but its own fields: it may be merged with the next one. */
export function isStampedDelta(event: Event): event is StampedDelta {
  return event["kind"] === "block_delta" && fields(event) === STAMPED_FIELDS && isDelta(event) && isCount(event["n"]);
}

export type StampedDelta = BlockDelta & { n: number };

/** What a merged delta may grow to, in characters. */
const MERGED_SIZE = 64 * 1024;

/**
 * Two deltas as one, where the second follows the first in the same block: the text of both, the last `n`, and how many
 * deltas it stands for (rule CHK-7). Undefined where they are not neighbours, or it would grow beyond 64 Ki characters.
 */
export function mergeDeltas(first: StampedDelta, next: StampedDelta): StampedDelta | undefined {
  const { n, merged = 1, delta } = first;
  if (n + 1 !== next.n || delta.length + next.delta.length > MERGED_SIZE) return undefined;
  for (const field of ["index", "block_type", "loop_id", "round", "attempt"])
    if (first[field] !== next[field]) return undefined;
  return { ...next, delta: delta + next.delta, merged: merged + 1 };
}

function isPlain(value: unknown): value is string {
  if (typeof value !== "string") return false;
  return value === lastReply || value === place.scope || value === place.loop_id || PLAIN.test(value);
}

function isDelta(event: Event): event is BlockDelta {
  const { event_type, index, delta } = event;
  if (event_type !== "infer_chunk" || !isCount(index) || index > MAX_BLOCK_INDEX) return false;
  if (typeof delta !== "string") return false;
  const type = event["block_type"];
  return type === "text" || type === "thinking" || type === "tool_use";
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

function fields(event: Event): number {
  let count = 0;
  for (const _ in event) count++;
  return count;
}
