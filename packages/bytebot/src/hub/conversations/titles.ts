import type { About } from "../../log/index.ts";
import { isTitle, NO_TITLE, TITLE_LENGTH, type Block } from "../../wire/index.ts";
import type { Conversation } from "../state.ts";

/** What is looked at of a text that may be a megabyte, in UTF-16 units. */
const LOOKED_AT = 4 * TITLE_LENGTH;

const EVERY_NO_TITLE = new RegExp(NO_TITLE, "g");

/** The first line of what was said, without what a title may not have, cut at a character (rule CVS-2). */
export function titleOf(content: readonly Block[]): string | undefined {
  for (const { type, text } of content as readonly { type: string; text?: unknown }[]) {
    if (type !== "text" || typeof text !== "string") continue;
    const [line = ""] = text
      .trimStart()
      .slice(0, LOOKED_AT)
      .split(/[\n\r\u2028\u2029]/, 1);
    const shown = line.replaceAll(EVERY_NO_TITLE, " ").toWellFormed().trim();
    const title = Array.from(shown).slice(0, TITLE_LENGTH).join("").trim();
    if (isTitle(title)) return title;
  }
  return undefined;
}

/** An input was accepted: what lists say of its conversation from here on, where that is news. */
export function nameBy(conversation: Conversation, content: readonly Block[]): About | undefined {
  const { about, scope, cell } = conversation;
  if (scope !== cell || about?.title !== undefined) return undefined;
  const title = titleOf(content);
  if (about && title === undefined) return undefined;
  return (conversation.about = { ...about, ...(title === undefined ? {} : { title }) });
}
