import assert from "node:assert/strict";
import type { Block, Event, Message } from "../../../src/wire/index.ts";
import type { Line } from "../line.ts";
import type { Kept } from "../log.ts";
import type { Stage } from "../stage.ts";
import type { Check } from "./check.ts";
import { tokensOf } from "./transcript.ts";

/** Whatever is asked, and however often over how many Hubs, runs once; the answer stays the same (ENV-3, REC-3, REC-4). */
export class Once implements Check {
  private readonly stage: Stage;
  /** By who asked for what: the input or the call that came of it. */
  private readonly runs = new Map<string, string>();
  private readonly answers = new Map<string, string>();
  /** The words of child turns, by how many Hubs had died when they were asked for. */
  private readonly children = new Map<string, number>();

  constructor(stage: Stage) {
    this.stage = stage;
  }

  committed({ events }: Kept): void {
    for (const event of events) {
      const { event_type, scope, from, request_id, id, call_id } = event;
      if (request_id === undefined || event_type === "input_strict") continue;
      const isTurn = event_type === "user_event";
      const key = JSON.stringify([scope, from, request_id]);
      const run = String(isTurn ? id : call_id);
      assert.equal(this.runs.get(key) ?? run, run, `the ${event_type} for ${key} runs once`);
      this.runs.set(key, run);
      if (isTurn && call_id !== undefined) {
        for (const token of tokensOf(event)) this.children.set(token, this.stage.cuts.length);
      }
    }
  }

  sent(line: Line, event: Event): void {
    if (event["observed"] === true) return;
    if (event.event_type === "bb_infer_request") return this.resumed(event);
    if (event.event_type !== "bb_turn_result" && event.event_type !== "bb_tool_call_result") return;
    const { in_reply_to, scope, content, success, ts } = event;
    const what = `${event.event_type} ${String(in_reply_to)} to ${line.name}`;
    assert.equal(typeof ts, "number", `${what} says when`);
    if (success !== true) return;
    const key = JSON.stringify([line.offer.componentId, scope, in_reply_to]);
    const said = JSON.stringify(content);
    assert.equal(said, this.answers.get(key) ?? said, `${what} is the answer it got before`);
    this.answers.set(key, said);
  }

  /** A child turn is of no use to a call whose link is gone. */
  private resumed(event: Event): void {
    const last = (event["messages"] as Message[]).findLast(
      ({ role, content }) => role === "user" && tokensOf(content).length > 0,
    );
    const asked = this.children.get(last ? tokensOf(last.content as Block[]).at(-1)! : "");
    if (asked !== undefined)
      assert.equal(
        asked,
        this.stage.cuts.length,
        `the child turn of ${JSON.stringify(last)} ended with its call's link`,
      );
  }
}
