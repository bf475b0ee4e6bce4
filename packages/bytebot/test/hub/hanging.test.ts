import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryLog, type Entry } from "../../src/log/index.ts";
import { inferResult, message, World } from "./world.ts";

/** A log that takes what it is given, and never answers who reads. */
class HangingLog extends MemoryLog {
  hangs = false;

  override async head(cell: string): Promise<Entry | undefined> {
    await this.wait();
    return super.head(cell);
  }

  override async *readAll(after: number, scopes: readonly string[]): AsyncIterable<Entry & { cell: string }> {
    await this.wait();
    yield* super.readAll(after, scopes);
  }

  override async *readBack(cell: string, from?: string): AsyncIterable<Entry> {
    await this.wait();
    yield* super.readBack(cell, from);
  }

  private wait(): Promise<void> {
    return this.hangs ? new Promise<never>(() => undefined) : Promise.resolve();
  }
}

test("a log that never answers who reads: input, pages and returning readers are told unavailable, and nothing waits for ever (LOG-7)", async () => {
  const log = new HangingLog();
  const world = new World({ log });
  const infer = await world.join("infer");
  const ui = await world.join("ui");
  await ui.send(message("before", "known"));
  await infer.send(inferResult(infer.last("bb_infer_request")));
  log.hangs = true;
  const readers = [];
  for (const name of ["one", "two", "three"])
    readers.push(await world.join(name === "two" ? "telemetry" : "ui", { name }, { resume: "start" }));
  const other = await world.join("ui", { name: "other" });
  await ui.send(message("new", "new", { id: "m1" }));
  await other.send(
    { event_type: "bb_history_request", id: "h1", scope: "known" },
    { event_type: "bb_history_request", id: "h2", scope: "known" },
    { event_type: "bb_history_request", id: "h2b", scope: "known" },
  );
  await other.send(message("goes on", "known", { id: "m2" }));
  assert.equal(other.last("bb_ack")["in_reply_to"], "m2", "what needs no reading goes on");
  await infer.send(inferResult(infer.last("bb_infer_request")));
  await world.pass(31_000);
  assert.deepEqual(
    readers.map(({ got, closed }) => [got.find(({ event_type }) => event_type === "bb_error")?.["code"], closed]),
    Array.from({ length: 3 }, () => ["unavailable", "the log could not be read"]),
    "each at its time, however many there are",
  );
  const refused = ui.got.find(({ event_type, in_reply_to }) => event_type === "bb_error" && in_reply_to === "m1");
  assert.deepEqual([refused?.["code"], refused?.["retryable"]], ["unavailable", true]);
  assert.deepEqual(
    other.all("bb_history_result").map(({ in_reply_to, error }) => [in_reply_to, (error as { code: string }).code]),
    [
      ["h1", "unavailable"],
      ["h2", "unavailable"],
      ["h2b", "unavailable"],
    ],
  );
  log.hangs = false;
  await ui.send(message("again", "new", { id: "m1" }), { event_type: "bb_history_request", id: "h3", scope: "known" });
  assert.equal(ui.last("bb_history_result")["success"], true);
  await infer.send(inferResult(infer.last("bb_infer_request")));
  world.reports.length = 0;
  await world.end();
});
