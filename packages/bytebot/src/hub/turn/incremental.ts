import type { Block, Message } from "../../wire/index.ts";
import { copyMessages } from "./history.ts";
import type { Conversation, Synced } from "../state.ts";

/** How far into a transcript somebody has read: its messages, and the blocks of the last of them. */
export interface Place {
  messages: number;
  blocks: number;
}

/** What the context was last asked to render of a conversation, and answered: the next one may begin there. */
export interface Rendered extends Place {
  to: Synced["id"];
}

/**
 * The history for a render: what is new since the last one that this connection answered, else the whole
 * (rule HIS-1). From here on, until it answers again, it gets the whole.
 */
export function historyFor(
  context: Synced,
  conversation: Conversation,
): { history: Message[]; history_whole: boolean } {
  const { messages, rendered } = conversation;
  conversation.rendered = undefined;
  if (!rendered || rendered.to !== context.id || !isIncremental(context)) {
    return { history: copyMessages(messages), history_whole: true };
  }
  return { history: since(messages, rendered), history_whole: false };
}

/** A transcript only ever grows at its end, so what a place leaves out is all that is new. */
export function since(messages: readonly Message[], place: Place): Message[] {
  const last = messages[place.messages - 1];
  const grown: Block[] = last ? last.content.slice(place.blocks) : [];
  const rest = copyMessages(messages.slice(place.messages));
  return grown.length > 0 ? [{ ...last!, content: grown }, ...rest] : rest;
}

export function placeIn(messages: readonly Message[]): Place {
  return { messages: messages.length, blocks: messages.at(-1)?.content.length ?? 0 };
}

function isIncremental(context: Synced): boolean {
  const { history } = context.grant.capabilities;
  return typeof history === "object" && history !== null && Object.hasOwn(history, "incremental");
}
