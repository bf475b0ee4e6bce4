import { createHash } from "node:crypto";
import { BytebotError, type Event } from "../wire/index.ts";
import type { Core } from "./core.ts";
import type { Effect, Plus } from "./effects.ts";
import { Recent } from "./recent.ts";
import type { Asker, Conversation, Seen, Synced } from "./state.ts";

/** Of one component in one conversation (rule ENV-3). */
const MAX_SEEN = 256;

/**
 * Was this id seen in this scope from this component? Then the answer it got goes out again, or is still to come, and
 * nothing runs twice; the same id with another body is a `conflict` (rule ENV-3). True: there is nothing left to do.
 */
export function seenBefore(core: Core, conversation: Conversation, connection: Synced, event: Event): boolean {
  const id = event["id"];
  if (typeof id !== "string") return false;
  const { componentId } = connection.offer;
  let known = conversation.seen.get(componentId);
  if (!known) conversation.seen.set(componentId, (known = new Recent(MAX_SEEN)));
  const seen = known.get(id);
  if (!seen) {
    known.set(id, { event });
    return false;
  }
  if (!sameAs(seen, event)) {
    throw new BytebotError(
      "conflict",
      `the id "${id}" was used in this scope for something else: ids are random and used once`,
    );
  }
  if (seen.answer) core.effect(conversation.scope, { ...seen.answer, to: connection.id } as Effect);
  return true;
}

/** Is it the same request? Of one that was not logged as it came nothing else is known than its id. */
function sameAs(seen: Seen, event: Event): boolean {
  if (seen.event) return bodyOf(seen.event) === bodyOf(event);
  return seen.hash === undefined || seen.hash === hashOf(event);
}

/** Of a request as it was sent. */
export function hashOf(event: Event): string {
  return createHash("sha256").update(bodyOf(event)).digest("base64url").slice(0, 22);
}

/** All of it but its mode, which is in the log also where the app's rules decided it (rule INP-5). */
function bodyOf(event: Event): string {
  return JSON.stringify({ ...event, mode: undefined });
}

/** What the log says of a request that was seen before the Hub was restarted. */
export function recallSeen(conversation: Conversation, component: string, id: string, seen: Seen): void {
  let known = conversation.seen.get(component);
  if (!known) conversation.seen.set(component, (known = new Recent(MAX_SEEN)));
  known.set(id, seen);
}

/** Keeps the answer for whoever asks again. */
export function remember(conversation: Conversation, to: Asker, answer: Effect): void {
  const seen = conversation.seen.get(to.component)?.get(to.id);
  if (seen) seen.answer = answer;
}

/** Answers a request, now and whenever it is sent again. `plus`: what the answer has beside an event that is logged. */
export function reply(core: Core, conversation: Conversation, to: Asker, event: Event, plus?: Plus): void {
  event["ts"] = core.now;
  const present = core.synced(to.connection) ?? core.connected.ofComponent(to.component);
  const answer: Effect = { type: "send", to: present?.id ?? to.connection, event, ...(plus ? { plus } : {}) };
  remember(conversation, to, answer);
  if (!to.told) core.effect(conversation.scope, answer);
}

/** It was refused, so it was not seen: the same id may come again. */
export function forget(conversation: Conversation, component: string, id: unknown): void {
  const known = conversation.seen.get(component);
  known?.delete(String(id));
  if (known?.size === 0) conversation.seen.delete(component);
}

/** Who asks, for the answer. */
export function asker(connection: Synced, id: string, principal?: string): Asker {
  const person = principal === undefined ? {} : { principal };
  return { connection: connection.id, component: connection.offer.componentId, id, ...person };
}
