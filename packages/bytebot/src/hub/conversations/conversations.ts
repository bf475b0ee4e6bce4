import { BytebotError, cellOf, tenantOf, type Delete, type Event, type Fork, type Rename } from "../../wire/index.ts";
import { emptySnapshot, snapshotOf } from "../cells/snapshot.ts";
import type { Core } from "../core.ts";
import type { ConnectionId } from "../effects.ts";
import { mayTouch } from "../grants.ts";
import type { Conversation, Synced } from "../state.ts";

/** A request about conversations that has passed its schema and the check of its scope. */
export function receive(core: Core, connection: Synced, event: Event): void {
  switch (event.event_type) {
    case "bb_conversations":
      return core.effect(undefined, { type: "conversations", to: connection.id, event });
    case "bb_rename":
      return rename(core, connection, event as Rename);
    case "bb_fork":
      return fork(core, connection, event as Fork);
    case "bb_delete":
      return remove(core, connection, event as Delete);
  }
}

/** What it is called from here on: logged, and shown to all its UIs (rule CVS-3). */
function rename(core: Core, connection: Synced, { id, scope, title, principal }: Rename): void {
  mustDecide(connection, "bb_rename");
  mustBeWhole(scope);
  const conversation = core.conversations.get(scope);
  if (!conversation?.about) throw notThere(scope);
  conversation.about = { ...conversation.about, title };
  const by = { from: connection.offer.componentId, ...(principal === undefined ? {} : { principal }) };
  core.append(scope, { event_type: "conversation_title", scope, title, ...by }, { about: conversation.about });
  answer(core, scope, connection.id, { event_type: "bb_rename_result", in_reply_to: id, scope });
  core.settle(conversation);
}

/** All of its cell goes, and one entry that says so stays: a place in the log is never used twice (rule CVS-5). */
function remove(core: Core, connection: Synced, { id, scope, principal }: Delete): void {
  mustDecide(connection, "bb_delete");
  mustBeWhole(scope);
  const all = [...core.loaded.of(scope)];
  if (all.length === 0) throw notThere(scope);
  if (core.loaded.isBusy(scope))
    throw new BytebotError("conflict", `something goes on in "${scope}": interrupt it first, then delete it`, {
      retryable: true,
    });
  const by = { from: connection.offer.componentId, ...(principal === undefined ? {} : { principal }) };
  const gone = { event_type: "conversation_deleted", scope, ...by, ts: core.now };
  const nothing = { ...emptySnapshot(scope, false), ts: core.now };
  core.base(scope, [nothing, gone], { wipe: true, about: { deleted: true } });
  const result = { event_type: "bb_delete_result", in_reply_to: id, scope, success: true };
  core.effect(scope, { type: "wiped", cell: scope, to: connection.id, event: result });
  // Where its log stands stays known until this is in it.
  for (const conversation of all) core.remove(conversation);
}

/** What can be said at once of a fork; the rest says the log, which is read for it (rule CVS-4). */
function fork(core: Core, connection: Synced, event: Fork): void {
  const { scope, to } = event;
  mustDecide(connection, "bb_fork");
  if (!mayTouch(connection, to)) throw new BytebotError("not_found", `no scope "${to}"`);
  mustBeWhole(scope);
  mustBeWhole(to);
  if (tenantOf(scope) !== tenantOf(to))
    throw new BytebotError("invalid_params", `"${to}" is of another tenant than "${scope}": name one of the same`);
  core.effect(undefined, { type: "fork", to: connection.id, event });
}

/** The conversation as it was there, under the new scope: it begins, unless there is one by now. */
export function forked(core: Core, connection: ConnectionId, event: Fork, begun: Conversation): void {
  try {
    goOnFrom(core, connection, event, begun);
  } catch (error) {
    core.refuse(connection, BytebotError.from(error), event.id);
  }
}

function goOnFrom(core: Core, connection: ConnectionId, { id, scope, to }: Fork, begun: Conversation): void {
  if (core.loaded.of(to).length > 0) throw new BytebotError("conflict", `there is a conversation "${to}" already`);
  const conversation = core.conversation(to);
  conversation.messages = begun.messages;
  conversation.about = begun.about;
  const [first, ...others] = snapshotOf(core, to);
  const snapshot = { ...first!, forked_from: begun.about?.forked_from };
  core.base(to, [snapshot, ...others], { ...(begun.about ? { about: begun.about } : {}) });
  core.effect(to, { type: "publish", event: snapshot });
  answer(core, to, connection, { event_type: "bb_fork_result", in_reply_to: id, scope, to });
  core.settle(conversation);
}

function answer(core: Core, cell: string, to: ConnectionId, result: Event): void {
  core.effect(cell, { type: "send", to, event: { ...result, success: true, ts: core.now } });
}

/** Whoever may say something in a conversation may say what becomes of it. */
function mustDecide({ grant }: Synced, type: string): void {
  if (grant.inputCapable || grant.controller || grant.owner) return;
  throw new BytebotError("forbidden", `${type} is for a ui that is input_capable, the controller and the owner`);
}

/** A child conversation lies in the cell of the one above it, and has its fate. */
function mustBeWhole(scope: string): void {
  if (cellOf(scope) === scope) return;
  throw new BytebotError("invalid_params", `"${scope}" is a child conversation: it goes with "${cellOf(scope)}"`);
}

function notThere(scope: string): BytebotError {
  return new BytebotError("not_found", `there is no conversation "${scope}"`);
}
