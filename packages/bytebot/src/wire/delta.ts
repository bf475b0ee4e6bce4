import type { Event } from "./codec.ts";
import type { BlockDelta } from "./events/chunk.ts";
import { MAX_BLOCK_INDEX } from "./limits.ts";

/*
 * The one hot event: a delta of text, thousands in a turn. With nothing but its own fields it is checked and encoded
 * here by hand; with any other field it takes the general way. Both ways give the same answer (property-tested).
 */
const ID = /^[\x21-\x7e]{1,128}$/;
/** Visible ASCII but for the quote and the backslash: the same within quotes as without. */
const PLAIN = /^[\x21\x23-\x5b\x5d-\x7e]*$/;
const SEPARATORS = /[\u2028\u2029]/;
/** event_type, kind, index, block_type, delta, in_reply_to. */
const SENT_FIELDS = 6;
/** event_type, kind, index, block_type, delta, scope, loop_id, round, attempt, n, ts. */
const STAMPED_FIELDS = 11;

/** A delta as an infer sends it, valid and bare: false says only that the schema has to look. */
export function isSentDelta(event: Event): event is BlockDelta {
  if (event["kind"] !== "block_delta" || fields(event) !== SENT_FIELDS) return false;
  const reply = event["in_reply_to"];
  return typeof reply === "string" && ID.test(reply) && isDelta(event);
}

/** The delta's line without its newline, where it is bare, stamped by the Hub, and holds nothing that needs an escape but the text. */
export function encodeDelta(event: Event): string | undefined {
  if (event["kind"] !== "block_delta" || fields(event) !== STAMPED_FIELDS || !isDelta(event)) return undefined;
  const { index, block_type, delta, scope, loop_id, round, attempt, n, ts } = event;
  if (!isPlain(scope) || !isPlain(loop_id) || SEPARATORS.test(delta)) return undefined;
  if (!isCount(round) || !isCount(attempt) || !isCount(n) || !isCount(ts)) return undefined;
  const place = `"scope":"${scope}","loop_id":"${loop_id}","round":${round},"attempt":${attempt},"n":${n},"ts":${ts}`;
  return `{"event_type":"infer_chunk","kind":"block_delta","index":${index},"block_type":"${block_type}","delta":${JSON.stringify(delta)},${place}}`;
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
  return typeof value === "string" && PLAIN.test(value);
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
