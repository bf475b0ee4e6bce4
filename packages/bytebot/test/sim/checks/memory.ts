import assert from "node:assert/strict";
import { checkRecalled } from "../../hub/recalled.ts";
import type { Stage } from "../stage.ts";
import type { Check } from "./check.ts";

/** Whenever a Hub dies, and at the end, its log says what it had come to (REC-1, LOG-6). */
export class Memory implements Check {
  private readonly stage: Stage;

  constructor(stage: Stage) {
    this.stage = stage;
  }

  dying(): void {
    const { life, log } = this.stage;
    const [core, cells] = [life.hub["core"], life.hub["cells"]];
    const all = new Set([...log.kept.keys(), ...[...core.conversations.values()].map(({ cell }) => cell)]);
    // What is on its way to the log is not in it; and a Hub that reads does not know all of it yet.
    const unsure = [...all].filter(
      (cell) => !cells.isQuiet(cell) || log.isAppending(cell) || (life.state === "restoring" && !cells.isLoaded(cell)),
    );
    checkRecalled(core, log.entries, new Set([...life.gaps, ...unsure]));
  }

  end(): void {
    const { life, log } = this.stage;
    checkRecalled(life.hub["core"], log.entries, life.gaps);
    for (const [cell, entries] of log.kept) {
      assert.ok(log.gaps.has(cell) || entries.at(-1)!.open !== true, `nothing of ${cell} is under way (LOG-6)`);
    }
  }
}
