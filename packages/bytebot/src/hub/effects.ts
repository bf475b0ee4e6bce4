import type { About, Spent } from "../log/index.ts";
import type { BytebotError, Event, Fork, LineLimits } from "../wire/index.ts";

export type ConnectionId = string;

/** What one copy of an event has beside it. */
export type Plus = Readonly<Record<string, unknown>>;

/** What the core asks its runner to do, once the batch it stands in is committed. */
export type Effect =
  /** To one connection. `plus`: more for this copy of an event that is logged. */
  | { type: "send"; to: ConnectionId; event: Event; plus?: Plus }
  /** To every reader of the event's scope, live only. */
  | { type: "publish"; event: Event }
  /** For telemetry and `events()` alone: it was received, and is not sent on. */
  | { type: "observe"; event: Event; by?: ConnectionId }
  /** Answers an input or a reply: the input is durable now. */
  | { type: "ack"; to: ConnectionId; inReplyTo: string; of?: Event; fate?: string }
  | { type: "timer"; key: string; at: number }
  | { type: "clear"; key: string }
  | { type: "limit"; to: ConnectionId; limits: LineLimits }
  /** The component can do its work: it has synced, and a toolsource has registered its tools. */
  | { type: "ready"; to: ConnectionId }
  /** It was refused what it needs to be ready: whoever waits for that is told why. */
  | { type: "not_ready"; to: ConnectionId; error: BytebotError }
  | { type: "close"; to: ConnectionId; reason: string; bye?: true }
  /** The reader has seen what is open in this cell: from here on it gets it live. */
  | { type: "join"; to: ConnectionId; cell: string; events: Event[] }
  /** The reader is shown the log after its cursor; `caught_up` says when it has seen all of it. */
  | { type: "replay"; to: ConnectionId }
  /** A request that only the app can carry out: attach, detach. */
  | { type: "control"; to: ConnectionId; event: Event }
  /** A mistake of ours, for the people who run the Hub: whoever met it is told `internal`. */
  | { type: "fault"; error: unknown }
  /** Bytes of a blob, a wish for them, or the end of either. */
  | { type: "blob"; from: ConnectionId; event: Event }
  /** All that was appended to the cell is committed: where nothing has begun since, it may leave the memory. */
  | { type: "unload"; cell: string }
  | { type: "unloaded"; cell: string }
  /** What an interrupt of a wider scope did in this cell is in its log; the input `logged` says so. */
  | { type: "logged"; wide: string }
  | { type: "history"; to: ConnectionId; event: Event }
  | { type: "conversations"; to: ConnectionId; event: Event }
  /** Reads what a conversation was at a place in its log; answered by the input `forked`. */
  | { type: "fork"; to: ConnectionId; event: Fork }
  /** The cell's log was wiped: its blobs go too, and then who asked is answered. */
  | { type: "wiped"; cell: string; to: ConnectionId; event: Event }
  /** Checks by schemas that may take long, in a thread of their own; answered by the input `checked` under the same id. */
  | { type: "check"; id: string; by: string; schemas: readonly string[]; values: readonly unknown[] };

/**
 * One step's outcome for one cell: first the events are appended, in one entry; then, and only if that was committed,
 * they are shown to the scope's readers and the effects leave, in order (write before effect: rule LOG-1).
 */
export interface Batch {
  /** Undefined: belongs to no cell, and is carried out at once. */
  cell: string | undefined;
  append: Event[];
  effects: Effect[];
  /** The events as JSON, as they are logged: without what the log says of them. */
  lines?: readonly string[];
  /** What is appended stands for all that was appended to the cell before it. */
  base?: true;
  /** And takes its place: nothing of what was before is left. */
  wipe?: true;
  /** What lists say of the cell from here on. */
  about?: About;
  /** What its tenant has used with it. */
  spent?: Spent;
  /** Something of the cell is under way after it. */
  open?: true;
}
