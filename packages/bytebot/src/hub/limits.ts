import { RESULT_BYTES } from "../wire/index.ts";

/** Deadlines in milliseconds, sizes and counts of one Hub. */
export interface CoreLimits {
  syncMs: number;
  renderMs: number;
  /** Silence of an infer after which its request has failed. */
  inferIdleMs: number;
  toolMs: number;
  questionMs: number;
  /** What a cancelled piece of work may still take. */
  graceMs: number;
  /** Until an infer that was lost is back. */
  returnMs: number;
  /** How long an approval for a scope binds (rule POL-4). */
  approvalMs: number;
  /** A check by a schema that may take long. */
  schemaMs: number;
  attempts: number;
  retryMs: number;
  maxRetryMs: number;
  queue: number;
  callsPerLoop: number;
  sameCalls: number;
  /** Asked for by whoever controls the scope, and open in one conversation. */
  ownCalls: number;
  /** Bytes of a tool's result that the model is shown. */
  resultBytes: number;
  /** Bytes of one blob. */
  blobBytes: number;
  /** Blobs on their way at once at one connection, either way. */
  blobTransfers: number;
  /** Silence after which a blob on its way is given up. */
  blobIdleMs: number;
  /** Characters of one answer that are kept: its deltas beyond them are refused. */
  answer: number;
  /** Open in one conversation. */
  questions: number;
  /** Cells that are kept in memory though nothing goes on in them; 1 at least. */
  idle: number;
}

export const defaultLimits: CoreLimits = {
  syncMs: 10_000,
  renderMs: 30_000,
  inferIdleMs: 300_000,
  toolMs: 60_000,
  questionMs: 300_000,
  graceMs: 1000,
  returnMs: 30_000,
  approvalMs: 24 * 60 * 60 * 1000,
  schemaMs: 500,
  attempts: 3,
  retryMs: 500,
  maxRetryMs: 60_000,
  queue: 100,
  callsPerLoop: 50,
  sameCalls: 5,
  ownCalls: 100,
  resultBytes: RESULT_BYTES,
  blobBytes: 64 * 1024 * 1024,
  blobTransfers: 8,
  blobIdleMs: 30_000,
  answer: 16 * 1024 * 1024,
  questions: 100,
  idle: 1000,
};
