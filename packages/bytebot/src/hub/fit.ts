import { BytebotError, check, wide } from "../wire/index.ts";

/** For what the Hub adds to an event when it stamps it. */
const ENVELOPE_BYTES = 4096;
/** Content lies some levels deeper in a transcript than in the event that brought it. */
const CONTENT_DEPTH = 48;

/**
 * Would a context or an infer refuse this request as too large? Then the turn ends here, with what to do about it, instead
 * of with a satellite that cannot answer (rules FRM-5 and FRM-6).
 */
export function mustFit(fields: Record<string, unknown>): void {
  check(fields, wide);
  const bytes = Buffer.byteLength(JSON.stringify(fields));
  if (bytes <= wide.line_bytes - ENVELOPE_BYTES) return;
  const limit = wide.line_bytes / 1024 / 1024;
  throw new BytebotError(
    "too_large",
    `the conversation is ${(bytes / 1024 / 1024).toFixed(1)} MiB, and a request may have ${limit}: have the context shorten it, or begin a new conversation`,
  );
}

/** Content that will still fit when it stands in a transcript. Throws `too_large`. */
export function mustFitTranscript(content: unknown): void {
  check({ content: content ?? null }, { ...wide, depth: CONTENT_DEPTH });
}
