import assert from "node:assert/strict";
import { cellOf, type Event, type Message } from "../../../src/wire/index.ts";
import type { Line } from "../line.ts";
import type { Kept } from "../log.ts";
import type { Check } from "./check.ts";
import { tokensOf } from "./transcript.ts";

/** What the model was shown last in a loop, and where that ended well. */
interface Loop {
  tokens: string[];
  end?: string;
}

/** Of a deleted conversation nobody is told anything any more; a fork has what was said up to its place, and no more (CVS-4, CVS-5). */
export class Conversations implements Check {
  private readonly loops = new Map<string, Loop>();
  /** By cell: the words that were said in it since it began, and those of before. */
  private readonly said = new Map<string, Set<string>>();
  private readonly gone = new Map<string, string>();

  committed({ cell, pos, events }: Kept): void {
    for (const [index, event] of events.entries()) {
      if (event.event_type === "user_event") {
        const said = this.said.get(cell) ?? new Set();
        for (const token of tokensOf(event)) said.add(token);
        this.said.set(cell, said);
      }
      if (event.event_type === "conversation_deleted") {
        for (const token of this.said.get(cell) ?? []) this.gone.set(token, cell);
        this.said.delete(cell);
      }
      const loop = this.loops.get(String(event["loop_id"]));
      if (event["kind"] === "loop_done" && event["stop_reason"] === "end_turn" && loop)
        loop.end = `${String(event["scope"])} ${pos * 256 + index}`;
      if (event["forked_from"] !== undefined) this.forked(event);
    }
  }

  sent(line: Line, event: Event): void {
    if (event.event_type !== "bb_infer_request" || event["observed"] === true) return;
    const tokens = userTokens(event["messages"] as Message[]);
    this.loops.set(String(event["loop_id"]), { tokens });
    const cell = cellOf(String(event["scope"]));
    for (const token of tokens)
      assert.notEqual(this.gone.get(token), cell, `${line.name} is shown ${token}, which was deleted`);
  }

  private forked({ scope, forked_from, state }: Event): void {
    const { scope: from, seq } = forked_from as { scope: string; seq: number };
    const tokens = userTokens((state as { messages: Message[] }).messages);
    for (const loop of this.loops.values())
      if (loop.end === `${from} ${seq}`)
        assert.deepEqual(tokens, loop.tokens, `${String(scope)} has what was said where it was forked`);
  }
}

function userTokens(messages: readonly Message[]): string[] {
  return messages.filter(({ role }) => role === "user").flatMap(({ content }) => tokensOf(content));
}
