import assert from "node:assert/strict";
import { encloses } from "../../src/wire/index.ts";
import type { Entry } from "../../src/log/index.ts";
import type { Event } from "../../src/wire/index.ts";

/**
 * What must hold of any log, whatever happened: positions rise within a cell, nothing lies in a cell that does not hold
 * its scope, each call and each question has one end, each loop one terminal event, and no inference is left open.
 */
export function checkLog(entries: readonly (Entry & { cell: string })[], finished = true): void {
  const positions = new Map<string, number>();
  const loops = new Map<string, { open: boolean }>();
  const calls = new Map<string, number>();
  const requests = new Map<string, number>();
  const questions = new Map<string, number>();
  for (const { cell, pos, events } of entries) {
    assert.ok(pos > (positions.get(cell) ?? 0), `positions rise in cell ${cell}`);
    positions.set(cell, pos);
    for (const event of events) {
      const scope = event["scope"];
      assert.ok(
        typeof scope === "string" && encloses(cell, scope),
        `${event.event_type} of ${String(scope)} lies in cell ${cell}`,
      );
      account(event, { loops, calls, requests, questions });
    }
  }
  if (!finished) return;
  for (const [id, { open }] of loops) assert.equal(open, false, `loop ${id} has its terminal event`);
  for (const [id, results] of calls) assert.equal(results, 1, `call ${id} has one result`);
  for (const [id, results] of requests) assert.equal(results, 1, `inference ${id} has one result`);
  for (const [id, ends] of questions) assert.equal(ends, 1, `question ${id} was resolved once`);
}

interface Books {
  loops: Map<string, { open: boolean }>;
  calls: Map<string, number>;
  requests: Map<string, number>;
  questions: Map<string, number>;
}

function account(event: Event, { loops, calls, requests, questions }: Books): void {
  const loop = event["loop_id"];
  if (event.event_type === "infer_chunk" && event["kind"] === "loop_done") {
    assert.notEqual(loops.get(String(loop))?.open, false, `loop ${String(loop)} ends once`);
    loops.set(String(loop), { open: false });
  } else if (typeof loop === "string") {
    const known = loops.get(loop);
    assert.notEqual(known?.open, false, `${event.event_type} comes before the end of its loop`);
    loops.set(loop, known ?? { open: true });
  }
  const id = String(event["id"]);
  const callId = String(event["call_id"]);
  switch (event.event_type) {
    case "bb_infer_request":
      assert.ok(!requests.has(id), `inference ${id} was asked for once`);
      requests.set(id, 0);
      break;
    case "bb_infer_result":
      count(requests, String(event["in_reply_to"]), "inference");
      break;
    case "bb_tool_call_request":
    case "tool_call":
      assert.ok(!calls.has(callId), `call ${callId} was logged once`);
      calls.set(callId, 0);
      break;
    case "bb_tool_call_result":
      count(calls, callId, "call");
      break;
    case "input_strict":
      questions.set(id, 0);
      break;
    case "input_resolved":
      count(questions, id, "question");
  }
}

function count(book: Map<string, number>, id: string, what: string): void {
  const ends = book.get(id);
  assert.ok(ends !== undefined, `the end of ${what} ${id} follows its beginning`);
  book.set(id, ends + 1);
}
