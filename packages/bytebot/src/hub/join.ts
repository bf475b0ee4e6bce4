import { cellOf, type Event } from "../wire/index.ts";
import { openChunks } from "./blocks.ts";
import type { Core } from "./core.ts";
import { mayTouch } from "./grants.ts";
import type { Conversation, Synced } from "./state.ts";

/**
 * Shows a new reader what is going on in its scopes: state, open questions, the open block so far; then `bb_live`
 * (rule RPL-1). Each cell's part stands in that cell's own order, so that nothing is missed and nothing comes twice.
 */
export function join(core: Core, reader: Synced): void {
  const cells = new Map<string, Event[]>();
  for (const set of core.active.values()) {
    for (const conversation of set) {
      if (!mayTouch(reader, conversation.scope)) continue;
      const cell = cellOf(conversation.scope);
      cells.set(cell, [...(cells.get(cell) ?? []), ...openState(core, conversation)]);
    }
  }
  for (const [cell, events] of cells) {
    reader.joining.add(cell);
    core.effect(cell, { type: "join", to: reader.id, cell, events });
  }
  if (cells.size === 0) core.send(undefined, reader.id, { event_type: "bb_live" });
}

function openState(core: Core, conversation: Conversation): Event[] {
  const { scope, turn, questions } = conversation;
  const state = turn ? { state: "running", loop_id: turn.loopId } : { state: "idle" };
  return [
    { event_type: "scope_state", scope, ts: core.now, ...state },
    ...[...questions.values()].map((question) => question.event),
    ...openChunks(conversation),
  ];
}

/** One cell has been shown; after the last one the reader is live. */
export function joined(core: Core, id: string, cell: string): void {
  const reader = core.synced(id);
  if (reader?.joining.delete(cell) && reader.joining.size === 0) core.send(undefined, id, { event_type: "bb_live" });
}
