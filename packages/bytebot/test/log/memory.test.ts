import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryLog, withLargeEvents } from "../../src/log/index.ts";
import { logSuite } from "./suite.ts";

logSuite("memory", () => Promise.resolve(new MemoryLog()));

test("an event too large for an entry is kept beside it and comes back whole, by every way of reading (LOG-2)", async () => {
  const log = withLargeEvents(new MemoryLog());
  const text = "😀".repeat(200_000);
  const event = { event_type: "user_event", type: "message", scope: "u", text };
  const place = await log.append("u", 0, { id: "a", events: [event, { ...event, text: "small" }] });
  for await (const { events } of log.read("u", 0))
    assert.deepEqual(
      events.map((each) => each["text"]),
      [text, "small"],
    );
  assert.equal((await log.head("u"))?.events[0]?.["text"], text);
  for await (const { events } of log.readBack("u")) assert.equal(events[0]!["text"], text);
  const stop = new AbortController();
  for await (const { events, cursor } of log.tail([], stop.signal)) {
    assert.equal(cursor, place.cursor);
    assert.equal(events[0]?.["text"], text);
    stop.abort();
  }
  await log.close();
});
