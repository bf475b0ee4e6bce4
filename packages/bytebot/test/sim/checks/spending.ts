import assert from "node:assert/strict";
import { nothingSpent, type Spent } from "../../../src/log/index.ts";
import { tenantOf } from "../../../src/wire/index.ts";
import type { Kept } from "../log.ts";
import type { Stage } from "../stage.ts";
import type { Check } from "./check.ts";

/**
 * What a tenant has used is what its log says was used, once each, however often an append was repeated or a Hub killed
 * (QTA-6).
 */
export class Spending implements Check {
  private readonly stage: Stage;
  private readonly used = new Map<string, Spent>();

  constructor(stage: Stage) {
    this.stage = stage;
  }

  committed({ cell, events }: Kept): void {
    const tenant = tenantOf(cell);
    const used = this.used.get(tenant) ?? nothingSpent(0);
    this.used.set(tenant, used);
    for (const { event_type, round, attempt, usage } of events) {
      if (event_type === "bb_infer_request" && round === 0 && attempt === 0) used.turns++;
      if (event_type === "bb_tool_call_request") used.calls++;
      if (event_type === "bb_infer_result")
        used.tokens += (usage as { input_tokens: number } | undefined)?.input_tokens ?? 0;
    }
  }

  end(): void {
    for (const [tenant, used] of this.used) {
      if (used.turns + used.calls + used.tokens === 0) continue;
      const { turns, calls, tokens } = this.stage.log.spent.get(tenant) ?? nothingSpent(0);
      const logged = { turns: used.turns, calls: used.calls, tokens: used.tokens };
      assert.deepEqual({ turns, calls, tokens }, logged, `what ${tenant} has used is what its log says`);
    }
  }
}
