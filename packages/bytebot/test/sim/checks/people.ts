import assert from "node:assert/strict";
import type { Event } from "../../../src/wire/index.ts";
import type { Line } from "../line.ts";
import type { Kept } from "../log.ts";
import type { Check } from "./check.ts";

/** What is logged is that person's whose connection it came from, and nobody else's (PRN-2, PRN-3). */
export class People implements Check {
  private readonly people = new Map<string, string | undefined>();

  received({ offer }: Line): void {
    this.people.set(offer.componentId, offer.principal);
  }

  committed({ events }: Kept): void {
    for (const event of events) {
      const sender = event.event_type === "input_resolved" ? event["by"] : event["from"];
      if (typeof sender !== "string" || !this.people.has(sender)) continue;
      const expected = this.people.get(sender);
      assert.equal(event["principal"], expected, `${told(event)} is of whoever sent it (PRN-3)`);
    }
  }
}

function told({ event_type, scope, id, call_id }: Event): string {
  return `${event_type} ${String(id ?? call_id)} of ${String(scope)}`;
}
