/**
 * Loaded into every test file (--import): once its tests are done, what they opened must be closed. A file that still
 * runs then fails and says what holds it, where node:test alone would wait for ever.
 */
import { after } from "node:test";

const GRACE_MS = 10_000;

// Only in a file's own process: the runner that starts them loads this too.
if (process.env["NODE_TEST_CONTEXT"] !== undefined) {
  after(() => {
    const timer = setTimeout(() => {
      const open = process.getActiveResourcesInfo().join(", ");
      console.error(`the tests are done, and still open are: ${open}: close them in the test, or in t.after`);
      process.exit(1);
    }, GRACE_MS);
    timer.unref();
  });
}
