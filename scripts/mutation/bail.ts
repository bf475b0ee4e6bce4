import type { TestEvent } from "node:test/reporters";

/** A reporter that ends the run at the first test that fails: the mutant is found, and the rest is of no interest. */
export default async function* bail(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const event of events) {
    if (event.type === "test:fail") process.exit(1);
    if (event.type === "test:summary") yield "";
  }
}
