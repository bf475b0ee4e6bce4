import type { CoreLimits } from "../../src/hub/index.ts";

/** Short waits, so that a run of some seconds sees them all. Milliseconds. */
export const limits: Partial<CoreLimits> = {
  renderMs: 2000,
  inferIdleMs: 4000,
  toolMs: 3000,
  questionMs: 4000,
  graceMs: 1000,
  retryMs: 200,
  maxRetryMs: 3000,
  queue: 6,
  callsPerLoop: 8,
  sameCalls: 2,
};
