import {
  MAX_ENTRY_EVENTS,
  type BlobStore,
  type BlobWriter,
  type Entry,
  type EventLog,
  type Pos,
  type StoredBlob,
} from "../../log/index.ts";
import { BytebotError, type Block, type Event, type Fork, type Message } from "../../wire/index.ts";
import { newConversation } from "../conversation.ts";
import type { Pause } from "../readers/pages.ts";
import { stamped } from "../readers/replay.ts";
import { Recall } from "../recovery/recall.ts";
import type { Conversation } from "../state.ts";

/** A conversation as it was, under its new scope, and the oldest entry that says so. */
interface Forked {
  conversation: Conversation;
  oldest: Pos;
}

/**
 * The conversation as it was when the turn had ended whose `loop_done` has this `seq`: what waited then is not in it
 * (rule CVS-4). Throws `not_found` where the log does not have it, `invalid_params` where it is no end of a turn.
 */
export async function forkOf(log: EventLog, { scope, at: seq, to }: Fork, pause: Pause): Promise<Forked> {
  const pos = Math.floor(seq / MAX_ENTRY_EVENTS);
  const entries = await upTo(log, scope, pos, pause);
  const last = entries[0];
  const index = seq % MAX_ENTRY_EVENTS;
  const end = last?.pos === pos ? last.events[index] : undefined;
  if (!last || end?.["scope"] !== scope)
    throw new BytebotError("not_found", `the log has no event of "${scope}" with the seq ${seq}, or no longer`);
  if (!isEnd(end) && !isBeginning(end)) {
    const fix = "fork at the seq of an infer_chunk loop_done";
    throw new BytebotError("invalid_params", `the seq ${seq} of "${scope}" is not the end of a turn: ${fix}`);
  }
  const oldest = entries.at(-1)!.pos;
  const recall = new Recall();
  for (const entry of entries.reverse()) {
    for (const [at, event] of entry.events.entries()) {
      if (entry === last && !last.base && at >= index) break;
      recall.add(stamped(event, entry, at));
    }
    await pause();
  }
  if (isEnd(end)) recall.end(stamped(end, last, index));
  const was = recall.conversations.get(scope);
  const title = was?.about?.title;
  const about = { ...(title === undefined ? {} : { title }), forked_from: { scope, seq } };
  return { oldest, conversation: { ...newConversation(to), messages: was?.messages ?? [], about } };
}

/** Rejects with `not_found` where what was read was deleted or trimmed meanwhile: it may not have been all. */
export async function mustBeKept(log: EventLog, scope: string, oldest: Pos): Promise<void> {
  try {
    for await (const _ of log.read(scope, oldest - 1)) return;
  } catch (error) {
    const { code, message } = BytebotError.from(error);
    throw code === "cursor_expired" ? new BytebotError("not_found", `it went while it was read: ${message}`) : error;
  }
}

/** The cell's entries from that position down to the newest that stands for all before it, the newest first. */
async function upTo(log: EventLog, cell: string, pos: number, pause: Pause): Promise<Entry[]> {
  const entries: Entry[] = [];
  for await (const entry of log.readBack(cell)) {
    await pause();
    if (entry.pos > pos) continue;
    entries.push(entry);
    if (entry.base) break;
  }
  return entries;
}

function isEnd({ event_type, kind }: Event): boolean {
  return event_type === "infer_chunk" && kind === "loop_done";
}

/** Of a conversation that was forked off itself. */
function isBeginning({ event_type, forked_from }: Event): boolean {
  return event_type === "bb_snapshot" && forked_from !== undefined;
}

/**
 * The blobs that these messages name, from one cell to another: none is found there before all are written and `check` has
 * resolved, so where it fails, what others have put there is as it was. Rejects as these do.
 */
export async function copyBlobs(
  store: BlobStore,
  messages: readonly Message[],
  from: string,
  to: string,
  check: () => Promise<void>,
): Promise<void> {
  const copies: { writer: BlobWriter; blob: StoredBlob }[] = [];
  try {
    for (const ref of refsIn(messages)) {
      const blob = await store.find(from, ref);
      // What is there already is not counted twice.
      if (!blob || (await store.find(to, ref))) continue;
      const writer = store.create(to);
      copies.push({ writer, blob });
      for await (const piece of blob.read()) await writer.write(piece);
    }
    await check();
    for (const { writer, blob } of copies) await writer.commit(blob.ref, blob.mimeType);
  } catch (error) {
    // Of what is in already nothing is taken out: somebody else may have put the same there since.
    await Promise.all(copies.map(({ writer }) => writer.discard()));
    throw error;
  }
}

function refsIn(messages: readonly Message[]): ReadonlySet<string> {
  const refs = new Set<string>();
  const look = (blocks: readonly Block[]): void => {
    for (const block of blocks) {
      if (block.type === "blob") refs.add(block.ref);
      else if (block.type === "tool_result") look(block.content as readonly Block[]);
    }
  };
  for (const { content } of messages) look(content);
  return refs;
}
