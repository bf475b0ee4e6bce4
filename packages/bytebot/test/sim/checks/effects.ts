import assert from "node:assert/strict";
import { cellOf, type Event } from "../../../src/wire/index.ts";
import { IDEMPOTENT } from "../cast/tools.ts";
import type { Line } from "../line.ts";
import type { Kept } from "../log.ts";
import type { Stage } from "../stage.ts";
import type { Check } from "./check.ts";

/** Nothing leaves before what led to it is in the log, and no call runs twice (LOG-1, TOL-6). */
export class Effects implements Check {
  private readonly stage: Stage;
  /** Inputs and calls that are in the log. */
  private readonly inputs = new Set<string>();
  /** Interrupts of a wider scope, by sender and cell, of which it is not said yet that all cells have them. */
  private readonly spread = new Map<string, number>();
  private readonly calls = new Map<string, "asked" | "ended">();
  /** To which connections a call went. */
  private readonly sentTo = new Map<string, Set<Line>>();
  private readonly cancelled = new Set<string>();
  /** What waits for whom, and since when that one is gone. */
  private readonly waits = new Map<string, { line: Line; goneAt?: number }>();

  constructor(stage: Stage) {
    this.stage = stage;
  }

  committed({ events }: Kept): void {
    for (const event of events) {
      const { event_type, id, scope, from } = event;
      const call = String(event["call_id"]);
      if (event_type === "user_event") this.inputs.add(`${String(from)} ${String(id)} ${String(scope)}`);
      if (event_type === "interrupt") this.interrupted(event);
      if (event_type === "bb_tool_call_request") this.calls.set(call, "asked");
      if (event_type === "bb_tool_call_result") this.calls.set(call, "ended");
      if (event_type === "bb_tool_call_result" || event_type === "bb_infer_result") this.ended(event);
    }
  }

  sent(line: Line, event: Event): void {
    if (event["observed"] === true) return;
    const what = `${event.event_type} to ${line.name}`;
    switch (event.event_type) {
      case "bb_infer_request":
      case "input_strict":
        if (event.event_type === "bb_infer_request") this.waits.set(String(event["id"]), { line });
        assert.ok(this.logged(event), `${what} left before it was in the log`);
        break;
      case "bb_tool_call_request":
        this.call(line, event, what);
        break;
      case "bb_cancel":
        // Of what a log refused, the next Hub knows nothing.
        if (event["reason"] !== "the log failed") this.cancelled.add(String(event["target"]));
        break;
      case "bb_ack":
        this.acknowledged(line, event, what);
        break;
    }
    // Of a snapshot that says nothing, only the place is real.
    if (event["seq"] !== undefined && event["scope"] !== undefined && event.event_type !== "bb_snapshot")
      assert.ok(this.logged(event), `${what}: no such entry`);
  }

  closed(line: Line): void {
    for (const wait of this.waits.values()) if (wait.line === line) wait.goneAt = this.stage.time.now();
  }

  /** What waited for a connection of it is the next one's affair. */
  died(): void {
    this.waits.clear();
  }

  /** What waits for a connection ends with it (CON-7). */
  private ended(event: Event): void {
    const id = String(event["call_id"] ?? event["in_reply_to"]);
    const goneAt = this.waits.get(id)?.goneAt ?? Infinity;
    this.waits.delete(id);
    // Given up with its log, its end is logged when that is there again (LOG-4).
    if (this.stage.log.gaps.has(cellOf(String(event["scope"])))) return;
    assert.ok(Number(event["ts"]) <= goneAt, `the ${event.event_type} of ${id} came with the end of its connection`);
  }

  private logged(event: Event): boolean {
    const { log } = this.stage;
    const cell = cellOf(String(event["scope"]));
    // A question that a resuming reader is shown has no cursor (RPL-6).
    const logged =
      event["cursor"] === undefined ? log.atSeq(cell, Number(event["seq"])) : log.at(cell, event["cursor"]);
    return logged !== undefined && logged["ts"] === event["ts"] && logged["id"] === event["id"];
  }

  private interrupted({ from, scope, id, reached }: Event): void {
    for (const cell of (reached as string[] | undefined) ?? []) {
      const key = `${String(from)} ${cell}`;
      const before = this.spread.get(key) ?? 0;
      assert.ok(before > 0, `${String(id)} of ${String(from)} is in the log of ${cell} before that is said (INT-6)`);
      this.spread.set(key, before - 1);
    }
    const key = `${String(from)} ${String(scope)}`;
    if (id === undefined) this.spread.set(key, (this.spread.get(key) ?? 0) + 1);
  }

  private call(line: Line, event: Event, what: string): void {
    const id = String(event["call_id"]);
    assert.equal(this.calls.get(id), "asked", `${what}: ${id} is in the log, without a result`);
    assert.ok(!this.cancelled.has(id), `${what}: ${id} had been told to stop`);
    const before = this.sentTo.get(id) ?? new Set();
    assert.ok(!before.has(line), `${what}: ${id} went to this connection before`);
    if (!IDEMPOTENT.has(String(event["name"]))) {
      assert.equal(before.size, 0, `${what}: ${id} runs a second time`);
      this.waits.set(id, { line });
    }
    this.sentTo.set(id, before.add(line));
  }

  private acknowledged(line: Line, event: Event, what: string): void {
    const reply = event["in_reply_to"];
    const fate = event["fate"];
    if (fate === undefined || fate === "refused") return;
    const key = `${line.offer.componentId} ${String(reply)} `;
    assert.ok(
      [...this.inputs].some((input) => input.startsWith(key)),
      `${what}: ${String(reply)} is not in the log`,
    );
    assert.ok(event["seq"] !== undefined, `${what}: it carries its seq`);
  }
}
