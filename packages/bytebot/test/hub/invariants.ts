import assert from "node:assert/strict";
import { cellOf, encloses, type Event } from "../../src/wire/index.ts";
import type { Entry } from "../../src/log/index.ts";
import { Loops } from "./loops.ts";

export interface CheckOptions {
  /** Everything that began has ended. */
  finished?: boolean;
  /** The grace of an interrupt, in milliseconds of the log's clock; Infinity where that clock is a real one. */
  graceMs?: number;
  /** Where a cell's log refused an entry: what was open there at that position was given up, unlogged (rule LOG-4). */
  gaps?: ReadonlyMap<string, readonly number[]>;
  /** After so many entries a Hub was killed: its deadlines are over. */
  cuts?: readonly number[];
}

/**
 * What must hold of any log, whatever happened: positions rise within a cell, nothing lies in a cell that does not hold
 * its scope, an input is there once and has one fate, each question has one end; the rest, of loops and calls, is in
 * `Loops`.
 */
export function checkLog(entries: readonly (Entry & { cell: string })[], options: CheckOptions = {}): void {
  const { finished = true, graceMs = 1000, gaps = new Map<string, number[]>(), cuts = [] } = options;
  const positions = new Map<string, number>();
  const loops = new Loops(graceMs);
  const questions = new Questions();
  const inputs = new Inputs();
  const giveUp = (cell: string, from: number, to: number): void => {
    if (!gaps.get(cell)?.some((gap) => gap >= from && gap < to)) return;
    loops.giveUp(cell);
    questions.giveUp(cell);
  };
  for (const [index, { cell, pos, events }] of entries.entries()) {
    if (cuts.includes(index)) loops.cutOff();
    const before = positions.get(cell) ?? 0;
    assert.ok(pos > before, `positions rise in cell ${cell}`);
    giveUp(cell, before, pos);
    positions.set(cell, pos);
    for (const event of events) {
      const scope = event["scope"];
      const what = `${event.event_type} of ${String(scope)}`;
      assert.ok(typeof scope === "string" && encloses(cell, scope), `${what} lies in cell ${cell}`);
      assert.equal(cellOf(scope), cell, `${what} lies in its own cell`);
      inputs.account(event, scope);
      questions.account(event, scope);
      loops.account(event, scope, questions);
    }
  }
  for (const [cell, head] of positions) giveUp(cell, head, Infinity);
  if (!finished) return;
  loops.finished();
  questions.finished();
  inputs.finished(loops.started);
}

/** An input is logged once for its sender's id, and returned once at most; no loop without an input of its own. */
class Inputs {
  private readonly seen = new Set<string>();
  private readonly state = new Map<string, "logged" | "returned">();
  private readonly counts = new Map<string, number>();

  account(event: Event, scope: string): void {
    const id = String(event["id"]);
    const input = `${scope} ${id}`;
    if (event.event_type === "user_event") {
      const key = `${scope} ${String(event["from"])} ${id}`;
      assert.ok(!this.seen.has(key), `input ${id} of ${String(event["from"])} is in ${scope} once`);
      this.seen.add(key);
      this.state.set(input, "logged");
      this.count(scope, 1);
    } else if (event.event_type === "input_state") {
      assert.equal(this.state.get(input), "logged", `input ${id} is returned once, after it was logged`);
      this.state.set(input, "returned");
      this.count(scope, -1);
    }
  }

  finished(started: ReadonlyMap<string, number>): void {
    for (const [scope, loops] of started) {
      const inputs = this.counts.get(scope) ?? 0;
      assert.ok(loops <= inputs, `${scope} has ${loops} loops and ${inputs} inputs that were not returned`);
    }
  }

  private count(scope: string, by: number): void {
    this.counts.set(scope, (this.counts.get(scope) ?? 0) + by);
  }
}

/** Each question is resolved once, in its scope. */
export class Questions {
  private readonly questions = new Map<string, { scope: string; call: string; outcome?: string }>();
  /** The last question about whether a call may run. */
  private readonly approvals = new Map<string, { outcome?: string }>();

  account(event: Event, scope: string): void {
    const id = String(event["id"]);
    if (event.event_type === "input_strict") {
      assert.ok(!this.questions.has(id), `question ${id} was asked once`);
      const question: { scope: string; call: string; outcome?: string } = { scope, call: String(event["call_id"]) };
      this.questions.set(id, question);
      if (event["approval"] !== undefined) this.approvals.set(question.call, question);
    } else if (event.event_type === "input_resolved") {
      const question = this.questions.get(id);
      assert.ok(question, `the end of question ${id} follows its beginning`);
      // Given up with its log, its end is logged when that is there again.
      assert.ok([undefined, "given up"].includes(question.outcome), `question ${id} was resolved once`);
      assert.equal(scope, question.scope, `question ${id} ends where it was asked`);
      question.outcome = event["choice"] === "deny" ? "denied" : String(event["outcome"]);
    }
  }

  /** A call may run that nobody was asked about, or that somebody accepted. */
  mayRun(call: string): boolean {
    const approval = this.approvals.get(call);
    return approval === undefined || approval.outcome === "accepted";
  }

  openOf(call: string): boolean {
    return [...this.questions.values()].some((question) => question.call === call && question.outcome === undefined);
  }

  giveUp(cell: string): void {
    for (const question of this.questions.values())
      if (cellOf(question.scope) === cell) question.outcome ??= "given up";
  }

  finished(): void {
    for (const [id, { outcome }] of this.questions)
      assert.ok(outcome !== undefined, `question ${id} was resolved once`);
  }
}
