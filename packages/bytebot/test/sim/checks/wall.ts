import assert from "node:assert/strict";
import { encloses, tenantOf, type Event } from "../../../src/wire/index.ts";
import { FORGED } from "../cast/forged.ts";
import type { Line } from "../line.ts";
import type { Kept } from "../log.ts";
import type { Stage } from "../stage.ts";
import { TENANTS } from "../tenants.ts";
import type { Check } from "./check.ts";

/** Nothing crosses: no event outside a grant, no word of another tenant, in errors neither, and nothing said in another's name. */
export class Wall implements Check {
  private readonly stage: Stage;

  constructor(stage: Stage) {
    this.stage = stage;
  }

  sent(line: Line, event: Event): void {
    const { scopes, kind, content } = line.offer;
    const scope = event["scope"];
    const text = JSON.stringify(event);
    const what = `${event.event_type} to ${line.name}`;
    // An audit sees what was refused, too.
    if (event["observed"] !== true) assert.ok(!text.includes(FORGED), `${what} says what was forged: ${text}`);
    if (typeof scope === "string") {
      assert.ok(
        scopes.some((granted) => encloses(granted, scope)),
        `${what}: ${scope} is outside its grant`,
      );
      this.onlyOf(tenantOf(scope), text, what);
    } else if (!scopes.includes("*")) for (const granted of scopes) this.onlyOf(tenantOf(granted), text, what);
    if (kind === "telemetry" && !content) this.onlyOf("nobody", text, what);
  }

  committed({ cell, events }: Kept): void {
    const text = JSON.stringify(events);
    assert.ok(!text.includes(FORGED), `the log of ${cell} holds what was forged: ${text}`);
    this.onlyOf(tenantOf(cell), text, `the log of ${cell}`);
    for (const { event_type, by, scope } of events) {
      if (event_type !== "input_resolved" || by === undefined) continue;
      const line = this.stage.lines.findLast(({ offer }) => offer.componentId === by);
      const mayAnswer =
        line?.offer.inputCapable && line.offer.scopes.some((granted) => encloses(granted, String(scope)));
      assert.ok(mayAnswer, `a question of ${String(scope)} was answered by ${JSON.stringify(by)}`);
    }
  }

  private onlyOf(tenant: string, text: string, what: string): void {
    for (const other of TENANTS) {
      if (other !== tenant)
        assert.ok(!text.includes(this.stage.canary(other)), `${what} has words of ${other}: ${text}`);
    }
  }
}
