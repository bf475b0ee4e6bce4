import assert from "node:assert/strict";
import { cellOf, encloses, type Event } from "../../src/wire/index.ts";
import type { Questions } from "./invariants.ts";

interface Call {
  scope: string;
  loop: string | undefined;
  state: "open" | "given_up" | "ended";
  /** It was only shown: the Hub answered it, and nothing ran. */
  shown: boolean;
  due: number;
}

interface Loop {
  scope: string;
  state: "open" | "given_up" | "ended";
  round: number;
  attempt: number;
  request: { id: string; state: "open" | "ended"; success: boolean } | undefined;
  /** Of the newest attempt: the calls that its blocks ask for, and the last `n`. */
  uses: string[];
  n: number;
  calls: string[];
  /** When it must have ended as interrupted. */
  due: number;
}

/**
 * One loop at a time in a conversation, with one end and nothing after it; attempts and rounds in order, each call asked
 * for by a block of a finished inference and answered once; what an interrupt reached ends as interrupted within the
 * grace, and nothing else does.
 */
export class Loops {
  /** How many loops each scope had. */
  readonly started = new Map<string, number>();
  private readonly graceMs: number;
  private readonly loops = new Map<string, Loop>();
  private readonly calls = new Map<string, Call>();
  private readonly requests = new Set<string>();
  private readonly open = new Map<string, string>();
  /** Scopes in which something that stops a loop was logged since the last loop's end. */
  private readonly stopped = new Set<string>();
  private readonly scopes = new Set<string>();
  /** Since the last interrupt that reached a scope: inputs whose loop has not begun. */
  private readonly since = new Map<string, number>();

  constructor(graceMs: number) {
    this.graceMs = graceMs;
  }

  account(event: Event, scope: string, questions: Questions): void {
    this.scopes.add(scope);
    const id = event["loop_id"];
    const loop = typeof id === "string" ? this.loop(id, scope, event.event_type) : undefined;
    switch (event.event_type) {
      case "user_event":
        if (event["mode"] === "replace") this.stopped.add(scope);
        this.since.set(scope, (this.since.get(scope) ?? Infinity) + 1);
        return;
      case "interrupt":
        // One with `reached` says what has happened, and stops nothing (INT-6).
        return event["reached"] === undefined ? this.interrupt(scope, Number(event["ts"])) : undefined;
      case "bb_infer_request":
        return this.asked(event, loop);
      case "bb_infer_result":
        return answered(event, loop);
      case "infer_chunk":
        return event["kind"] === "loop_done" ? this.done(event, scope, String(id), loop!) : block(event, loop);
      case "bb_tool_call_request":
      case "tool_call":
        return this.called(event, scope, loop, questions);
      case "bb_tool_call_result":
        return this.returned(event, scope, questions);
    }
  }

  /** What was open there ended unlogged; its end may still be logged, once, when the log is there again. */
  giveUp(cell: string): void {
    for (const each of [...this.loops.values(), ...this.calls.values()]) {
      if (cellOf(each.scope) !== cell || each.state !== "open") continue;
      each.state = "given_up";
      each.due = Infinity;
    }
  }

  /** The Hub was killed: what was told to stop ends when the next one goes on. */
  cutOff(): void {
    for (const each of [...this.loops.values(), ...this.calls.values()]) {
      if (each.due !== Infinity) each.due = Number.MAX_VALUE;
    }
  }

  finished(): void {
    for (const [id, { state }] of this.loops) assert.notEqual(state, "open", `loop ${id} has its terminal event`);
    for (const [id, { state }] of this.calls) assert.notEqual(state, "open", `call ${id} has one result`);
  }

  private loop(id: string, scope: string, type: string): Loop {
    const known = this.loops.get(id);
    if (known) {
      assert.notEqual(known.state, "ended", `${type} comes before the end of its loop ${id}, which ends once`);
      assert.equal(known.scope, scope, `loop ${id} is of one scope`);
      return known;
    }
    const before = this.loops.get(this.open.get(scope) ?? "");
    assert.ok(before?.state !== "open", `${scope} has one loop at a time`);
    const loop: Loop = {
      ...{ scope, state: "open", round: 0, attempt: -1, request: undefined },
      ...{ uses: [], n: -1, calls: [], due: Infinity },
    };
    this.loops.set(id, loop);
    this.open.set(scope, id);
    this.started.set(scope, (this.started.get(scope) ?? 0) + 1);
    return loop;
  }

  private interrupt(scope: string, ts: number): void {
    // It is logged in each cell that it reaches: of other cells it says nothing.
    const reached = (other: string): boolean => cellOf(other) === cellOf(scope) && encloses(scope, other);
    for (const other of this.scopes) {
      if (!reached(other)) continue;
      this.stopped.add(other);
      this.since.set(other, 0);
    }
    for (const each of [...this.loops.values(), ...this.calls.values()]) {
      if (each.state === "open" && reached(each.scope)) each.due = Math.min(each.due, ts + this.graceMs);
    }
  }

  private asked(event: Event, loop: Loop | undefined): void {
    const id = String(event["id"]);
    assert.ok(loop && !this.requests.has(id), `inference ${id} was asked for once, in a loop`);
    this.requests.add(id);
    const round = Number(event["round"]);
    const attempt = Number(event["attempt"]);
    assert.notEqual(loop.request?.state, "open", `inference ${id} follows the end of the one before`);
    this.allEnded(loop, `inference ${id}`);
    if (round === loop.round && loop.request) {
      assert.equal(attempt, loop.attempt + 1, `inference ${id} of round ${round} counts its attempts`);
      assert.equal(loop.request.success, false, `inference ${id} repeats one that failed`);
    } else if (loop.request) {
      assert.deepEqual([round, attempt], [loop.round + 1, 0], `inference ${id} is of the next round`);
      assert.equal(loop.request.success, true, `round ${round} follows one that succeeded`);
      assert.deepEqual(loop.calls, loop.uses, `each call of round ${loop.round} has its block, in order`);
    } else {
      assert.deepEqual([round, attempt], [0, 0], `inference ${id} is the first of its loop`);
      const since = this.since.get(loop.scope) ?? Infinity;
      assert.ok(since > 0, `inference ${id} is for an input that came after the last interrupt`);
      this.since.set(loop.scope, since - 1);
    }
    Object.assign(loop, { round, attempt, uses: [], calls: [], n: -1 });
    loop.request = { id, state: "open", success: false };
  }

  private called(event: Event, scope: string, loop: Loop | undefined, questions: Questions): void {
    const id = String(event["call_id"]);
    const shown = event.event_type === "tool_call";
    assert.ok(!this.calls.has(id), `call ${id} was logged once`);
    if (!shown) assert.ok(questions.mayRun(id), `call ${id} runs only once a person allowed it`);
    this.calls.set(id, { scope, loop: loop && String(event["loop_id"]), state: "open", shown, due: Infinity });
    if (!loop) return;
    assert.ok(loop.request?.state === "ended" && loop.request.success, `call ${id} follows its inference's success`);
    assert.ok(loop.uses.includes(id), `call ${id} was asked for by a block`);
    // Those that wait for a person are logged later; the order of all is the order of the blocks.
    loop.calls = loop.uses.filter((use) => use === id || loop.calls.includes(use));
  }

  private returned(event: Event, scope: string, questions: Questions): void {
    const id = String(event["call_id"]);
    const call = this.calls.get(id);
    assert.ok(call, `the end of call ${id} follows its beginning`);
    assert.notEqual(call.state, "ended", `call ${id} has one result`);
    assert.equal(call.scope, scope, `call ${id} ends where it began`);
    assert.equal(event["success"], event["status"] === "ok", `the result of call ${id} says one thing`);
    if (call.shown) assert.notEqual(event["status"], "ok", `call ${id} did not run, so it did not succeed`);
    assert.ok(!questions.openOf(id), `the questions of call ${id} ended with it`);
    assert.ok(Number(event["ts"]) <= call.due, `call ${id} ended within the grace of its interrupt`);
    call.state = "ended";
    for (const child of this.scopes) if (child !== scope && encloses(scope, child)) this.stopped.add(child);
  }

  private done(event: Event, scope: string, id: string, loop: Loop): void {
    this.allEnded(loop, `the end of loop ${id}`);
    assert.notEqual(loop.request?.state, "open", `the inference of loop ${id} ended before it`);
    const stop = event["stop_reason"];
    if (loop.due !== Infinity) assert.equal(stop, "interrupted", `loop ${id} was interrupted`);
    assert.ok(Number(event["ts"]) <= loop.due, `loop ${id} ended within the grace of its interrupt`);
    // Cut off by the end of the Hub, or given up with its log: it ends when the log is there again.
    const isCutOff =
      loop.state === "given_up" || (event["error"] as { code?: string } | undefined)?.code === "unavailable";
    if (stop === "interrupted")
      assert.ok(isCutOff || this.stopped.has(scope), `loop ${id} was interrupted by something`);
    else if (stop !== "error") assert.deepEqual(loop.uses, [], `loop ${id} ends with its last call answered`);
    loop.state = "ended";
    this.open.delete(scope);
    this.stopped.delete(scope);
  }

  private allEnded(loop: Loop, what: string): void {
    for (const id of loop.calls) assert.equal(this.calls.get(id)?.state, "ended", `call ${id} ended before ${what}`);
  }
}

function answered(event: Event, loop: Loop | undefined): void {
  const id = String(event["in_reply_to"]);
  assert.ok(loop?.request?.id === id, `the end of inference ${id} follows its beginning`);
  assert.equal(loop.request.state, "open", `inference ${id} has one result`);
  loop.request.state = "ended";
  const reason = event["stop_reason"];
  loop.request.success = event["success"] === true && reason !== "interrupted" && reason !== "error";
}

function block(event: Event, loop: Loop | undefined): void {
  assert.ok(loop?.request, `a block belongs to an inference`);
  const place = [Number(event["round"]), Number(event["attempt"])];
  assert.deepEqual(place, [loop.round, loop.attempt], `a block is of the newest attempt`);
  assert.ok(Number(event["n"]) > loop.n, `n rises`);
  loop.n = Number(event["n"]);
  const shown = event["block"] as { type?: string; id?: unknown } | undefined;
  if (shown?.type === "tool_use") loop.uses.push(String(shown.id));
}
