import { cellOf, type Event } from "../../wire/index.ts";
import { openChunks } from "../turn/blocks.ts";
import type { Core } from "../core.ts";
import type { ConnectionId } from "../effects.ts";
import { mayTouch } from "../grants.ts";
import type { Conversation, Synced } from "../state.ts";

/**
 * Shows a new reader what is going on in its scopes: state, open questions, the open block so far; then `bb_live`
 * (rule RPL-1). Each cell's part stands in that cell's own order, so that nothing is missed and nothing comes twice.
 * A reader that resumes is shown the log between the questions and the open block (rule RPL-6).
 */
export function join(core: Core, reader: Synced): void {
  const parts = new Parts();
  const { resume } = reader;
  for (const conversation of activeFor(core, reader)) {
    const { scope, questions } = conversation;
    parts.add(scope, stateOf(core, conversation), ...[...questions.values()].map(({ event }) => event));
    if (!resume) parts.add(scope, ...openChunks(conversation));
    resume?.scopes.add(scope);
    for (const id of questions.keys()) resume?.questions.add(id);
  }
  show(core, reader, parts);
}

/** The reader has been shown all of the log: now what is open, and from here on it is live. */
export function arrive(core: Core, id: ConnectionId, through: number): void {
  const reader = core.synced(id);
  if (!reader?.resume) return;
  reader.resume.through = through;
  const parts = new Parts();
  const { scopes } = reader.resume;
  // The turns that it was shown may have left it with another state than the one that was true all the time.
  for (const conversation of activeFor(core, reader)) {
    parts.add(conversation.scope, stateOf(core, conversation), ...openChunks(conversation));
    scopes.delete(conversation.scope);
  }
  for (const scope of scopes) parts.add(scope, { event_type: "scope_state", scope, ts: core.now, state: "idle" });
  show(core, reader, parts);
}

/** One cell has been shown; after the last one the reader reads the log, or is live. */
export function joined(core: Core, id: ConnectionId, cell: string): void {
  const reader = core.synced(id);
  if (reader?.joining.delete(cell)) goOn(core, reader);
}

/** What is shown, by cell. */
class Parts extends Map<string, Event[]> {
  add(scope: string, ...events: Event[]): void {
    const cell = cellOf(scope);
    const part = this.get(cell);
    if (part) part.push(...events);
    else this.set(cell, events);
  }
}

function show(core: Core, reader: Synced, parts: Parts): void {
  for (const [cell, events] of parts) {
    reader.joining.add(cell);
    core.effect(cell, { type: "join", to: reader.id, cell, events });
  }
  goOn(core, reader);
}

function goOn(core: Core, reader: Synced): void {
  if (reader.joining.size > 0) return;
  if (reader.resume && reader.resume.through === undefined) core.effect(undefined, { type: "replay", to: reader.id });
  else core.send(undefined, reader.id, { event_type: "bb_live" });
}

function* activeFor(core: Core, reader: Synced): Iterable<Conversation> {
  for (const set of core.active.values()) {
    for (const conversation of set) if (mayTouch(reader, conversation.scope)) yield conversation;
  }
}

/**
 * What a joining reader is shown. Where it resumes, what is older is still to come: without a cursor, so that a reader
 * which breaks off here goes on from the last it has really seen.
 */
export function asJoining({ resume }: Synced, { cursor, ...event }: Event): Event {
  return (resume || cursor === undefined ? event : { ...event, cursor }) as Event;
}

function stateOf(core: Core, { scope, turn }: Conversation): Event {
  const state = turn ? { state: "running", loop_id: turn.loopId } : { state: "idle" };
  return { event_type: "scope_state", scope, ts: core.now, ...state };
}
