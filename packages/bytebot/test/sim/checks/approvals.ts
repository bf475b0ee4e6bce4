import assert from "node:assert/strict";
import { hashOf, canonical } from "../../../src/hub/tools/tools.ts";
import type { Event, ToolDefinition } from "../../../src/wire/index.ts";
import type { Line } from "../line.ts";
import type { Kept } from "../log.ts";
import type { Check } from "./check.ts";

interface Approval {
  call: string;
  scope: string;
  hash: string;
  /** The tool and the arguments, in this conversation. */
  key: string;
}

/** What a person allowed is what runs, and they are asked once (POL-2, POL-4, REC-5). */
export class Approvals implements Check {
  private readonly questions = new Map<string, Approval>();
  private readonly byCall = new Map<string, Approval>();
  private readonly allowed = new Set<string>();
  /** The tools as they were registered at the Hub of now. */
  private readonly registered = new Set<string>();

  committed({ events }: Kept): void {
    for (const event of events) {
      if (event.event_type === "input_strict" && event["approval"] !== undefined) this.asked(event);
      const approval = this.questions.get(String(event["id"]));
      if (event.event_type === "input_resolved" && event["choice"] === "scope") this.allowed.add(approval!.key);
    }
  }

  received(_line: Line, event: Event): void {
    if (event.event_type !== "bb_tool_register") return;
    for (const tool of event["tools"] as ToolDefinition[]) this.registered.add(hashOf(tool));
  }

  sent(line: Line, event: Event): void {
    if (event.event_type !== "bb_tool_call_request" || event["observed"] === true) return;
    const approval = this.byCall.get(String(event["call_id"]));
    if (!approval) return;
    assert.ok(
      this.registered.has(approval.hash),
      `${line.name} runs ${approval.call} as another tool than the person allowed (POL-2)`,
    );
  }

  died(): void {
    this.registered.clear();
  }

  private asked(event: Event): void {
    const { tool_hash: hash, input } = event["approval"] as { tool_hash: string; input: unknown };
    const [scope, call] = [String(event["scope"]), String(event["call_id"])];
    const approval = { call, scope, hash, key: `${scope} ${hash} ${canonical(input)}` };
    assert.ok(!this.allowed.has(approval.key), `the call ${call} was allowed for all of ${scope} (POL-4)`);
    this.questions.set(String(event["id"]), approval);
    this.byCall.set(call, approval);
  }
}
