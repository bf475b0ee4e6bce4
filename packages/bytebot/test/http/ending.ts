import type { TestContext } from "node:test";

/** Aborts when the test is over. */
export function ending(t: TestContext): AbortSignal {
  const end = new AbortController();
  t.after(() => end.abort());
  return end.signal;
}
