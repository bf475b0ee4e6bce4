/** What one line may hold; the values in force on a connection are in `bb_sync_ack.limits` (rule FRM-5). */
export interface LineLimits {
  /** Bytes of a line without its newline. */
  line_bytes: number;
  /** JSON values in a line: every object, array, string, number, boolean and null. */
  values: number;
  /** Nesting of objects and arrays. */
  depth: number;
}

export const beforeSync: LineLimits = { line_bytes: 16 * 1024, values: 10_000, depth: 64 };
export const standard: LineLimits = { line_bytes: 1024 * 1024, values: 10_000, depth: 64 };
/** `context` and `infer` carry whole transcripts. */
export const wide: LineLimits = { line_bytes: 16 * 1024 * 1024, values: 1_000_000, depth: 64 };

/** Bytes: with so many sent and not yet taken, the other end is behind. */
export const HIGH_WATER = 1024 * 1024;

/** The highest index of a block in an answer (rule CHK-1). */
export const MAX_BLOCK_INDEX = 4095;

export function limitsFor(kind: string): LineLimits {
  return kind === "context" || kind === "infer" ? wide : standard;
}

/** Media of more bytes than this are kept as blobs, and a reference is passed on (rule BLB-1). */
export const INLINE_BYTES = 256 * 1024;
/** What of a tool's result is shown to the model, in bytes; the whole is kept as blobs (rule TOL-10). */
export const RESULT_BYTES = 128 * 1024;
/** Bytes of one part of a blob that a writer of ours sends: as base64, 256 KiB. */
export const PART_BYTES = 192 * 1024;
