import { orderOf, toMark, type CellInfo, type EventLog } from "../../log/index.ts";
import { BytebotError, within, widest, type ConversationInfo, type Conversations } from "../../wire/index.ts";
import type { Core } from "../core.ts";
import type { Pause } from "../readers/pages.ts";
import { sinkAllows } from "../readers/readers.ts";
import type { Synced } from "../state.ts";

const DEFAULT_LIMIT = 50;

export interface Listed {
  conversations: ConversationInfo[];
  more: boolean;
}

/**
 * One page of the conversations that the reader may touch, the newest activity first (rule CVS-1). All of the scope are
 * looked at, a few at a time; no more are held than a page has.
 */
export async function list(
  core: Core,
  log: EventLog,
  { grant }: Synced,
  { scope, limit = DEFAULT_LIMIT, before }: Conversations,
  pause: Pause,
): Promise<Listed> {
  const scopes = scope === undefined ? widest(grant.scopes) : [scope];
  const until = before === undefined ? Infinity : orderIn(log, before);
  const newest = new Newest(limit + 1);
  for await (const info of log.cells(scopes)) {
    await pause();
    const isSeen = within(scopes, info.cell) && sinkAllows(grant.scopes, { event_type: "", scope: info.cell });
    if (isSeen && info.about?.deleted !== true && orderOf(info.cursor) < until) newest.add(info);
  }
  const found = newest.all();
  return { conversations: found.slice(0, limit).map((info) => toInfo(core, info)), more: found.length > limit };
}

function toInfo(core: Core, { cell, at, events, cursor, about = {} }: CellInfo): ConversationInfo {
  const { deleted: _, ...told } = about;
  const state = core.conversations.get(cell)?.turn ? "running" : "idle";
  return { scope: cell, last_activity: at, events, state, cursor, ...told };
}

function orderIn(log: EventLog, cursor: string): number {
  const mark = toMark(cursor);
  if (mark?.log === toMark(log.end)!.log) return mark.order;
  throw new BytebotError("cursor_expired", `before: "${cursor}" is no cursor of this log`);
}

/** So many of those that are added, the newest. */
class Newest {
  private readonly most: number;
  private found: CellInfo[] = [];

  constructor(most: number) {
    this.most = most;
  }

  add(info: CellInfo): void {
    if (this.found.push(info) > 2 * this.most) this.found = this.all();
  }

  all(): CellInfo[] {
    return this.found.sort((a, b) => orderOf(b.cursor) - orderOf(a.cursor)).slice(0, this.most);
  }
}
