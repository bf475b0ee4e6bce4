import { BytebotError, check, wide } from "../../wire/index.ts";
import { placeIn, since, type Place } from "./incremental.ts";
import type { Conversation } from "../state.ts";

/** For what the Hub adds to an event when it stamps it. */
const ENVELOPE_BYTES = 4096;
/** Content lies some levels deeper in a transcript than in the event that brought it. */
const CONTENT_DEPTH = 48;
/** No shape that a transcript is sent in takes more than this times what it takes as canonical. */
const MOST = 3;
/** Of a message, around its blocks. */
const MESSAGE_BYTES = 40;

/** What a transcript takes as JSON, counted up to a place in it. */
export interface Weight extends Place {
  bytes: number;
  values: number;
}

/** A transcript is weighed as it grows: each block once, however many rounds send it. */
export function weigh(conversation: Conversation): Weight {
  const { messages } = conversation;
  const weight = { ...(conversation.weight ?? { messages: 0, blocks: 0, bytes: 0, values: 0 }) };
  for (const message of since(messages, weight)) {
    weight.bytes += MESSAGE_BYTES + Buffer.byteLength(JSON.stringify(message.content));
    weight.values += valuesIn(message);
  }
  return (conversation.weight = { ...weight, ...placeIn(messages) });
}

function valuesIn(value: unknown): number {
  if (typeof value !== "object" || value === null) return 1;
  let values = 1;
  for (const inner of Object.values(value)) values += valuesIn(inner);
  return values;
}

/**
 * Would a context or an infer refuse this request as too large? Then the turn ends here, with what to do about it, instead
 * of with a satellite that cannot answer (rules FRM-5 and FRM-6). `own`: its messages are the Hub's own transcript, which
 * weighs this much; only where that comes near the limit is the request written out to be sure.
 */
export function mustFit(fields: Record<string, unknown>, own?: Weight): void {
  if (own) {
    const { messages: _, history: __, ...rest } = fields;
    check(rest, wide);
    const values = own.values * MOST + valuesIn(rest);
    if (values <= wide.values && own.bytes * MOST + bytesOf(rest) <= wide.line_bytes) return;
  }
  check(fields, wide);
  const bytes = bytesOf(fields);
  if (bytes <= wide.line_bytes) return;
  const limit = wide.line_bytes / 1024 / 1024;
  throw new BytebotError(
    "too_large",
    `the conversation is ${(bytes / 1024 / 1024).toFixed(1)} MiB, and a request may have ${limit}: have the context shorten it, or begin a new conversation`,
  );
}

function bytesOf(fields: Record<string, unknown>): number {
  return ENVELOPE_BYTES + Buffer.byteLength(JSON.stringify(fields));
}

/** Content that will still fit when it stands in a transcript. Throws `too_large`. */
export function mustFitTranscript(content: unknown): void {
  check({ content: content ?? null }, { ...wide, depth: CONTENT_DEPTH });
}
