import { cellOf, encloses, type BytebotError, type Event, type Interrupt } from "../../wire/index.ts";
import type { Core } from "../core.ts";
import type { Batch, ConnectionId, Effect } from "../effects.ts";
import { asker, forget, recallSeen, remember, seenBefore } from "../seen.ts";
import type { Conversation, Synced } from "../state.ts";
import { stopConversation } from "./stop.ts";
import { unclaimed } from "./unclaimed.ts";

/** An interrupt that reached cells beside its own: it has happened when it is in the logs of all of them. */
export interface Wide {
  event: Event;
  connection: ConnectionId;
  component: string;
  reached: string[];
  /** Cells that have not logged it yet. */
  left: number;
}

/** Stops what was started in the scope and below before it, and nothing else (rules INT-1 to INT-6). */
export function interrupt(core: Core, connection: Synced, sent: Interrupt): void {
  const event = unclaimed(sent);
  const { id, scope } = event;
  const reached = within(core, scope);
  // Where it stops something it is heard also if the tenant may have no more conversations (rule QTA-7).
  const own = id === undefined ? undefined : core.conversation(scope, reached.length > 0 ? "beyond" : undefined);
  if (own && seenBefore(core, own, connection, event)) return;
  const cells = [...new Set(reached.map(({ cell }) => cell))];
  const others = cells.filter((cell) => cell !== cellOf(scope));
  if (others.length === 0) alone(core, connection, event, own, cells.length > 0);
  else spread(core, connection, event, cells);
  for (const conversation of reached) stopConversation(core, conversation, event.reason ?? "interrupt", true);
  if (id !== undefined && others.length > 0) wait(core, connection, event, cells, others);
}

/** All that it reaches is in the cell of its scope: there it is logged, and known again by its id. */
function alone(
  core: Core,
  connection: Synced,
  event: Interrupt,
  own: Conversation | undefined,
  reaches: boolean,
): void {
  const { id, scope } = event;
  if (!own && !reaches) return;
  const logged = core.append(scope, { ...event, from: connection.offer.componentId });
  if (!own || id === undefined) return;
  const ack: Effect = { type: "ack", to: connection.id, inReplyTo: id, of: logged };
  remember(own, asker(connection, id), ack);
  core.effect(scope, ack);
}

/** Each cell has it for the part of the scope that it holds, so that every reader of the cell may see it. */
function spread(core: Core, { offer }: Synced, sent: Interrupt, cells: readonly string[]): void {
  const { id: _, ...event } = sent;
  for (const scope of cells) core.append(scope, { ...event, scope, from: offer.componentId });
}

function wait(core: Core, connection: Synced, event: Interrupt, reached: string[], others: readonly string[]): void {
  const wide = core.newId("w");
  const of = { connection: connection.id, component: connection.offer.componentId };
  core.wide.set(wide, { event, ...of, reached, left: others.length });
  for (const cell of others) core.effect(cell, { type: "logged", wide });
}

/**
 * One more cell has logged it. After the last the cell of its scope is told, where it is known again by its id, and with
 * that it is acknowledged: whoever has the acknowledgement finds nothing of it undone (rule LOG-1).
 */
export function logged(core: Core, key: string): void {
  const wide = core.wide.get(key);
  if (!wide || --wide.left > 0) return;
  core.wide.delete(key);
  const { event, connection, component, reached } = wide;
  const { scope, id } = event as Interrupt;
  const record = core.append(scope, { ...event, reached, from: component });
  const present = core.synced(connection) ?? core.connected.ofComponent(component);
  const ack: Effect = { type: "ack", to: present?.id ?? connection, inReplyTo: id!, of: record };
  core.effect(scope, ack);
  const conversation = core.conversations.get(scope);
  if (conversation) recallSeen(conversation, component, id!, { event, answer: ack });
}

/** A cell refused what was to be logged: whoever waits for these interrupts is told, and may send them again (rule LOG-4). */
export function notLogged(core: Core, cell: string, lost: readonly Batch[], error: BytebotError): void {
  const keys = new Set(
    lost.flatMap(({ effects }) => effects.flatMap((each) => (each.type === "logged" ? each.wide : []))),
  );
  for (const [key, { event, connection, component }] of core.wide) {
    const { scope, id } = event as Interrupt;
    if (!keys.has(key) && cellOf(scope) !== cell) continue;
    core.wide.delete(key);
    const conversation = core.conversations.get(scope);
    if (conversation) {
      forget(conversation, component, id);
      core.refusedIn(conversation);
    }
    const present = core.synced(connection) ?? core.connected.ofComponent(component);
    core.refuse(present?.id ?? connection, error, id);
  }
}

/** The live conversations that a scope encloses. */
function within(core: Core, scope: string): Conversation[] {
  const end = scope.indexOf("/");
  const tenant = end === -1 ? scope : scope.slice(0, end);
  return [...(core.active.get(tenant) ?? [])].filter((conversation) => encloses(scope, conversation.scope));
}
