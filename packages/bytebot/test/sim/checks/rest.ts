import assert from "node:assert/strict";
import { limits } from "../limits.ts";
import type { Stage } from "../stage.ts";
import { checkLog } from "../../hub/invariants.ts";
import type { Check } from "./check.ts";

/** At rest nothing is left: no turn, call, question, request or timer; and the log is a legal one. */
export class Rest implements Check {
  private readonly stage: Stage;

  constructor(stage: Stage) {
    this.stage = stage;
  }

  end(): void {
    const { hub, log, life, cuts } = this.stage;
    checkLog(log.entries, { graceMs: limits.graceMs!, gaps: log.gaps, cuts });
    // Nobody outside can see these; a leak of them is only noticed when it is large.
    const core = hub["core"];
    assert.deepEqual([...core.pending.keys()], [], "no request waits");
    assert.deepEqual([...core.questions.keys()], [], "no question is open");
    assert.deepEqual([...core.active.keys()], [], "no conversation is active");
    assert.equal(life.timers, 0, "no timer is left");
  }
}
