import assert from "node:assert/strict";
import { encloses, type Event } from "../../../src/wire/index.ts";
import type { Line } from "../line.ts";
import type { Kept } from "../log.ts";
import { INPUT } from "../tenants.ts";
import type { Check } from "./check.ts";

/** The log says the mode that each input went by: what its sender said, else what the rules say of its scope (INP-5). */
export class Modes implements Check {
  /** Of each input, by its sender, scope and id. */
  private readonly said = new Map<string, unknown>();

  received(line: Line, event: Event): void {
    if (event.event_type === "user_event") this.said.set(keyOf(event, line.offer.componentId), event["mode"]);
  }

  committed({ events }: Kept): void {
    for (const event of events) {
      const key = keyOf(event, event["from"]);
      if (event.event_type !== "user_event" || !this.said.has(key)) continue;
      const rule = INPUT.findLast(({ scope }) => encloses(scope, String(event["scope"])));
      assert.equal(event["mode"], this.said.get(key) ?? rule?.mode, `the mode of ${key} (INP-5)`);
    }
  }
}

function keyOf({ scope, id }: Event, from: unknown): string {
  return JSON.stringify([from, scope, id]);
}
