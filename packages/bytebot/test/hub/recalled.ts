import assert from "node:assert/strict";
import type { Entry } from "../../src/log/index.ts";
import type { Conversation } from "../../src/hub/state.ts";
import { toState } from "../../src/hub/recovery/held.ts";
import { stamped } from "../../src/hub/readers/replay.ts";
import { deliver, Recall } from "../../src/hub/recovery/recall.ts";

type State = ReturnType<typeof toState>;
type StoredTurn = NonNullable<State["turn"]>;
type StoredCall = State["calls"][number];

/** What a Hub has in memory, as far as this looks at it. */
export interface Remembering {
  conversations: ReadonlyMap<string, Conversation>;
}

/**
 * A Hub that would start now on this log comes to what this one has come to: what was said, what waits, which calls were
 * sent, which questions are open (rules REC-1 and LOG-6). `gaps`: cells whose log refused something.
 */
export function checkRecalled(
  core: Remembering,
  entries: readonly (Entry & { cell: string })[],
  gaps: ReadonlySet<string>,
): void {
  const recalls = new Map<string, Recall>();
  const open = new Map<string, boolean>();
  for (const { cell, base, events, ...entry } of entries) {
    if (base || !recalls.has(cell)) recalls.set(cell, new Recall());
    for (const [index, event] of events.entries())
      recalls.get(cell)!.add(stamped(structuredClone(event), entry, index));
    open.set(cell, entry.open === true);
  }
  const busy = new Set<string>();
  for (const conversation of core.conversations.values()) {
    const { scope, cell, turn, queue, calls, questions } = conversation;
    if (gaps.has(cell)) continue;
    if (turn || queue.length + calls.size + questions.size > 0) busy.add(cell);
    const recalled = recalls.get(cell)?.conversations.get(scope);
    if (recalled) compare(scope, recalled, conversation);
    else assert.equal(conversation.messages.length, 0, `${scope}: what was said is in the log`);
  }
  for (const [cell, isOpen] of open) {
    if (!gaps.has(cell))
      assert.equal(isOpen, busy.has(cell), `${cell}: its newest entry says whether something goes on`);
  }
}

function compare(scope: string, recalled: Conversation, live: Conversation): void {
  const isHeld = live.turn?.phase.step === "held";
  if (recalled.turn?.phase.step === "held" && !isHeld) deliver(recalled, recalled.turn);
  const [log, memory] = [toState(recalled, true), toState(live, true)].map(normal);
  assert.deepEqual(log, memory, `${scope}: the log says what the Hub has come to`);
  const { seen } = toState(live, true);
  for (const [component, id, each] of toState(recalled, true).seen) {
    const known = seen.find((other) => other[0] === component && other[1] === id);
    // What it has forgotten, as too old, or never knew: the id was the Hub's own.
    if (!known) continue;
    if (each.hash !== undefined) assert.equal(each.hash, known[2].hash, `${scope}: the request ${id} is known again`);
    assert.equal(each.answer?.type, known[2].answer?.type, `${scope}: the answer to ${id} is known again`);
  }
}

/** Without what only one of them can know. */
function normal(stored: State): unknown {
  const { messages, about, queue, turn, calls, questions, approved } = stored;
  return JSON.parse(
    JSON.stringify({
      messages,
      about,
      queue: queue.map(({ id }) => id),
      turn: turn && turnOf(turn),
      calls: calls.map(callOf),
      questions: questions.map(({ event }) => event["id"]),
      approved,
    }),
  );
}

function turnOf(turn: StoredTurn): unknown {
  const { input, steers, stopping, loopId, asked, due, ...rest } = turn;
  // A loop of which nothing was logged yet has its name in memory alone; so has a grace that a call's end began.
  const known = rest.at === "asking" ? undefined : loopId;
  const stops = input.requester?.callId === undefined ? stopping !== undefined : undefined;
  const inputs = { input: input.id, steers: steers.map(({ id }) => id), due: due.length };
  return { ...rest, loopId: known, stops, ...inputs, asked: asked.map(callOf) };
}

function callOf({ id, input, loopId, asking, sent, approved, status, content }: StoredCall): unknown {
  return { id, input, loopId, asking, status, content, ...(status === undefined ? { sent, approved } : {}) };
}
