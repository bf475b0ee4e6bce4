import assert from "node:assert/strict";
import type { Event } from "../../../src/wire/index.ts";
import type { Line } from "../line.ts";
import { DISK_FULL, type Kept } from "../log.ts";
import { limits } from "../limits.ts";
import type { Check } from "./check.ts";

/** Who sends one of these gets one of those, or an error that says why not. */
const ANSWERS: Record<string, string> = {
  user_event: "bb_ack",
  interrupt: "bb_ack",
  input_reply: "bb_ack",
  bb_history_request: "bb_history_result",
  bb_conversations: "bb_conversations_result",
  bb_rename: "bb_rename_result",
  bb_fork: "bb_fork_result",
  bb_delete: "bb_delete_result",
  bb_tool_register: "bb_tool_register_result",
  bb_input_request: "bb_input_result",
  bb_turn_request: "bb_turn_result",
  bb_tool_call_request: "bb_tool_call_result",
  bb_policy: "bb_policy_result",
  bb_components: "bb_components_result",
  bb_detach: "bb_detach_result",
};

interface Asked {
  type: string;
  /** The call it was asked within. */
  call: string;
  times: number;
  answers: Event[];
}

/** Every request has its answer while its connection lives; an acknowledged input is in the log once, and the same again gets the same (ENV-3). */
export class Answers implements Check {
  private readonly asked = new Map<Line, Map<string, Asked>>();
  private readonly callEnds = new Map<string, number>();
  private readonly seqs = new Map<string, unknown>();
  /** By component and id: how often it was asked and answered, over all its connections. */
  private readonly totals = new Map<string, { asked: number; answered: number }>();

  committed({ events }: Kept): void {
    for (const { event_type, call_id, ts } of events) {
      if (event_type === "bb_tool_call_result") this.callEnds.set(String(call_id), Number(ts));
    }
  }

  received(line: Line, event: Event): void {
    const { id } = event;
    if (!(event.event_type in ANSWERS) || typeof id !== "string" || line.state !== "open") return;
    const ids = this.asked.get(line) ?? new Map<string, Asked>();
    this.asked.set(line, ids);
    const before = ids.get(id);
    const total = this.total(line, id);
    total.asked++;
    if (before) before.times++;
    else ids.set(id, { type: event.event_type, times: 1, answers: [], call: String(event["call_id"]) });
  }

  sent(line: Line, event: Event): void {
    const reply = String(event["in_reply_to"]);
    const asked = this.asked.get(line)?.get(reply);
    if (!asked || event["observed"] === true) return;
    const { type, answers, call } = asked;
    const what = `${event.event_type} for ${type} ${reply} of ${line.name}`;
    assert.ok(event.event_type === "bb_error" || event.event_type === ANSWERS[type], `${what} is no answer to it`);
    answers.push(event);
    // Where a log refuses what was to be said, that is known when the log says so, however long it takes.
    const { code, message } = (event["error"] ?? {}) as { code?: string; message?: string };
    const refused = code === "unavailable" && message === DISK_FULL;
    if (event.event_type === "bb_turn_result" && !refused) {
      const last = (this.callEnds.get(call) ?? Infinity) + limits.graceMs!;
      assert.ok(Number(event["ts"]) <= last, `${what}: the turn ended with its call (TRN-12)`);
    }
    const total = this.total(line, reply);
    assert.ok(++total.answered <= total.asked, `${what}: one answer for each time it was asked`);
    if (event.event_type !== "bb_ack" || event["seq"] === undefined) return;
    const key = `${line.offer.componentId} ${reply}`;
    const seq = this.seqs.get(key) ?? event["seq"];
    assert.equal(event["seq"], seq, `${what}: the same input, the same place`);
    this.seqs.set(key, seq);
  }

  /** Who was told that the log refused its work, is told by the next Hub what became of it. */
  died(): void {
    for (const total of this.totals.values()) total.answered = 0;
  }

  private total(line: Line, id: string): { asked: number; answered: number } {
    const key = `${line.offer.componentId} ${id}`;
    let total = this.totals.get(key);
    if (!total) this.totals.set(key, (total = { asked: 0, answered: 0 }));
    return total;
  }

  end(): void {
    for (const [line, ids] of this.asked) {
      if (line.state !== "open") continue;
      for (const [id, { type, times, answers }] of ids) {
        assert.ok(answers.length > 0, `${type} ${id} of ${line.name}, sent ${times} times, was answered`);
      }
    }
  }
}
