import { z } from "zod";
import { event, Id, reply, Scope } from "../envelope.ts";
import { Principal } from "../principal.ts";

/** Characters of a title. */
export const TITLE_LENGTH = 200;

/** What no title has: controls, and marks that turn or end lines of text (rules CVS-2, CVS-3). */
export const NO_TITLE = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/;

/** Is this a conversation's title: 1 to 200 characters, not all blank, without what no title has? */
export function isTitle(text: string): boolean {
  // A character has two UTF-16 units at most.
  if (text.length > 2 * TITLE_LENGTH || text.trim() === "") return false;
  return Array.from(text).length <= TITLE_LENGTH && !NO_TITLE.test(text);
}

const Title = z
  .string()
  .refine(isTitle, "a title is 1 to 200 characters, not all blank, without control characters and bidi marks");

/** Where a conversation was forked off: the end of a turn of another one. */
export const ForkedFrom = z.looseObject({ scope: Scope, seq: z.int().nonnegative() });
export type ForkedFrom = z.infer<typeof ForkedFrom>;

/** Asks for the conversations that lie within `scope`, or within all that the connection may touch (rule CVS-1). */
export const Conversations = event("bb_conversations", {
  id: Id,
  limit: z.int().positive().max(200).optional(),
  before: z.string().max(256).optional(),
});
export type Conversations = z.infer<typeof Conversations>;

export const ConversationInfo = z.looseObject({
  scope: Scope,
  title: z.string().optional(),
  /** Milliseconds since 1970. */
  last_activity: z.number(),
  events: z.int().nonnegative(),
  state: z.enum(["running", "idle"]),
  /** Of its newest event: the next page is `before` the one of the last conversation here. */
  cursor: z.string(),
  forked_from: ForkedFrom.optional(),
});
export type ConversationInfo = z.infer<typeof ConversationInfo>;

export const ConversationsResult = reply("bb_conversations_result", {
  conversations: z.array(ConversationInfo).optional(),
  more: z.boolean().optional(),
});
export type ConversationsResult = z.infer<typeof ConversationsResult>;

export const Rename = event("bb_rename", { id: Id, scope: Scope, title: Title, principal: Principal.optional() });
export type Rename = z.infer<typeof Rename>;
export const RenameResult = reply("bb_rename_result", {});
export type RenameResult = z.infer<typeof RenameResult>;

/** A conversation `to` that begins with all that was said in `scope` up to the end of a turn: its `loop_done`'s `seq`. */
export const Fork = event("bb_fork", { id: Id, scope: Scope, at: z.int().nonnegative(), to: Scope });
export type Fork = z.infer<typeof Fork>;
export const ForkResult = reply("bb_fork_result", { to: Scope.optional() });
export type ForkResult = z.infer<typeof ForkResult>;

export const Delete = event("bb_delete", { id: Id, scope: Scope, principal: Principal.optional() });
export type Delete = z.infer<typeof Delete>;
export const DeleteResult = reply("bb_delete_result", {});
export type DeleteResult = z.infer<typeof DeleteResult>;

/** Durable: what the conversation is called from here on. */
export const ConversationTitle = event("conversation_title", {
  scope: Scope,
  title: z.string(),
  principal: Principal.optional(),
});
export type ConversationTitle = z.infer<typeof ConversationTitle>;

/** Durable: all that was said in it is gone; what follows is another conversation. */
export const ConversationDeleted = event("conversation_deleted", { scope: Scope, principal: Principal.optional() });
export type ConversationDeleted = z.infer<typeof ConversationDeleted>;
