import type { Event } from "../../wire/index.ts";
import { MAX_ENTRY_EVENTS } from "../../log/index.ts";
import { isBusy } from "../conversation.ts";
import type { Core } from "../core.ts";
import { toState } from "../recovery/held.ts";
import { copyMessages } from "../turn/history.ts";
import type { Call, Conversation, Turn } from "../state.ts";

/** Characters of one snapshot entry: what is older is left out, and said so. */
const SNAPSHOT_SIZE = 1024 * 1024;

/**
 * Appends what a cell has come to, so that what is below may be trimmed (rule LOG-5): its own conversation, then those
 * below it in which something goes on, then the idle ones, the newest first. Each as readers are shown it, and as the Hub
 * goes on from it (rule REC-6). Of what goes beyond an entry nothing is said.
 */
export function snapshot(core: Core, cell: string): void {
  const events = snapshotOf(core, cell);
  if (events.length > 0) core.base(cell, events);
}

export function snapshotOf(core: Core, cell: string): Event[] {
  const all = core.loaded.of(cell);
  const own = all.filter(({ scope }) => scope === cell);
  const below = all.filter(({ scope }) => scope !== cell);
  const [busy, idle] = [below.filter(isBusy), below.filter((each) => !isBusy(each)).reverse()];
  const room = new Room();
  const shown = [...own, ...busy, ...idle].slice(0, MAX_ENTRY_EVENTS / 2);
  return shown.flatMap((conversation): Event[] => {
    const { scope, about } = conversation;
    const title = about?.title === undefined ? {} : { title: about.title };
    const open = openEvents(conversation);
    const messages = copyMessages(room.newest(conversation.messages));
    const snapped = { open: room.newest(open), messages };
    const more = snapped.open.length < open.length || messages.length < conversation.messages.length;
    const state = toState(conversation, messages.length < conversation.messages.length);
    return [
      { event_type: "bb_snapshot", scope, ...title, state: { ...snapped, more }, ts: core.now },
      { event_type: "bb_state", scope, state, ts: core.now },
    ];
  });
}

/** Stands for what is no longer kept where nothing more is known of it; `more`: there was something. */
export function emptySnapshot(scope: string, more = true): Event {
  return { event_type: "bb_snapshot", scope, state: { messages: [], open: [], more } };
}

/** What an entry still has room for, taken from the newest on. */
class Room {
  private left = SNAPSHOT_SIZE;

  newest<Item>(items: readonly Item[]): Item[] {
    let from = items.length;
    for (; from > 0; from--) {
      const size = JSON.stringify(items[from - 1]).length;
      if (size > this.left) break;
      this.left -= size;
    }
    return items.slice(from);
  }
}

/** What has begun and is in no message yet, as the durable events that UIs were shown of it. */
function openEvents({ scope, turn, queue, calls }: Conversation): Event[] {
  const ended = turn?.phase.step === "calling" ? turn.phase.calls.filter(({ state }) => state === "done") : [];
  return [
    ...blocksOf(scope, turn),
    ...[...calls.values()].map((call) => ({ event_type: "tool_call", ...ofCall(scope, call), input: call.input })),
    ...ended.map((call) => ({ event_type: "tool_result", ...ofCall(scope, call), ...resultOf(call) })),
    ...[...(turn?.steers ?? []), ...queue].map(({ event }) => ({ ...event })),
  ];
}

function blocksOf(scope: string, turn: Turn | undefined): Event[] {
  if (turn?.phase.step !== "inferring") return [];
  const { loopId: loop_id, round, attempt } = turn;
  // An answer may have its blocks under any index: what is in between is a hole, which is passed over.
  return turn.phase.blocks.flatMap((block, index) => [
    { event_type: "infer_chunk", kind: "block_stop", index, block, scope, loop_id, round, attempt },
  ]);
}

function ofCall(scope: string, { id, name, loopId }: Call) {
  return { scope, call_id: id, name, ...(loopId === undefined ? {} : { loop_id: loopId }) };
}

function resultOf({ status, content }: Call) {
  return { success: status === "ok", status, content };
}
