import assert from "node:assert/strict";
import { hashOf, canonical } from "../../../src/hub/tools/tools.ts";
import type { Event, ToolDefinition } from "../../../src/wire/index.ts";
import type { Line } from "../line.ts";
import type { Kept } from "../log.ts";
import type { Check } from "./check.ts";

/** What the newest answer for more than its call was. */
interface Given {
  until: number;
  by: unknown;
}

interface Approval {
  call: string;
  approvers: string[] | undefined;
  /** Who said yes. */
  by?: unknown;
  scope: string;
  hash: string;
  /** The tool and the arguments, in this conversation. */
  key: string;
}

/** What a person allowed who may is what runs, and they are asked once (POL-2, POL-4, POL-6, REC-5). */
export class Approvals implements Check {
  private readonly questions = new Map<string, Approval>();
  private readonly byCall = new Map<string, Approval>();
  private readonly allowed = new Map<string, Given>();
  /** The tools as they were registered at the Hub of now. */
  private readonly registered = new Set<string>();

  committed({ events }: Kept): void {
    for (const event of events) {
      if (event.event_type === "input_strict" && event["approval"] !== undefined) this.asked(event);
      if (event.event_type === "input_resolved") this.answered(event);
      if (event.event_type === "bb_tool_call_request") this.ran(event);
    }
  }

  received({ offer }: Line, event: Event): void {
    if (event.event_type !== "bb_tool_register") return;
    for (const tool of event["tools"] as ToolDefinition[]) this.registered.add(hashOf(offer.componentId, tool));
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
    const {
      tool_hash: hash,
      input,
      approvers,
    } = event["approval"] as {
      tool_hash: string;
      input: unknown;
      approvers?: string[];
    };
    const [scope, call] = [String(event["scope"]), String(event["call_id"])];
    const approval = { call, scope, hash, approvers, key: `${scope} ${hash} ${canonical(input)}` };
    const given = this.allowed.get(approval.key);
    const binds = given !== undefined && (event["ts"] as number) < given.until && mayAnswer(approvers, given.by);
    assert.ok(!binds, `the call ${call} was allowed for all of ${scope} (POL-4)`);
    this.questions.set(String(event["id"]), approval);
    this.byCall.set(call, approval);
  }

  private answered({ id, choice, outcome, principal, expires_at }: Event): void {
    const approval = this.questions.get(String(id));
    if (!approval) return;
    if (outcome === "accepted" || outcome === "declined")
      assert.ok(mayAnswer(approval.approvers, principal), `${String(principal)} may answer ${String(id)} (POL-6)`);
    if (choice !== "deny") approval.by = principal;
    if (choice === "scope" || choice === "remember")
      this.allowed.set(approval.key, { until: expires_at as number, by: principal });
  }

  /** Whoever is said to have allowed it has done so: for this call, or for more, where they were asked. */
  private ran(event: Event): void {
    const { approved_by: by, call_id, input, scope } = event;
    const asked = this.byCall.get(String(call_id));
    if (asked) return assert.equal(by, asked.by, `${asked.call} runs by the word of who allowed it (POL-6)`);
    if (by === undefined) return;
    const end = ` ${canonical(input)}`;
    const given = [...this.allowed].some(
      ([key, { by: giver }]) =>
        giver === by && key.endsWith(end) && `${String(scope)}/`.startsWith(`${key.split(" ", 1)[0]}/`),
    );
    assert.ok(given, `${JSON.stringify(by)} has allowed ${String(call_id)} of ${String(scope)} (POL-6)`);
  }
}

/** In these runs a pattern ends with its only `*`. */
function mayAnswer(approvers: string[] | undefined, principal: unknown): boolean {
  return approvers?.some((pattern) => String(principal).startsWith(pattern.slice(0, -1))) ?? true;
}
