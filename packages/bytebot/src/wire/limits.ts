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

/** The highest index of a block in an answer (rule CHK-1). */
export const MAX_BLOCK_INDEX = 4095;

export function limitsFor(kind: string): LineLimits {
  return kind === "context" || kind === "infer" ? wide : standard;
}
