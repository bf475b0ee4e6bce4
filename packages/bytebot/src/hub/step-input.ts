import type { Spent } from "../log/index.ts";
import type { BytebotError, Event, Fork } from "../wire/index.ts";
import type { Batch, ConnectionId } from "./effects.ts";
import type { Offer } from "./grants.ts";
import type { Conversation } from "./state.ts";
import type { Outcome } from "./tools/schema.ts";

/** Everything that can reach the core. */
export type StepInput =
  | { type: "opened"; connection: ConnectionId; offer: Offer }
  | { type: "event"; connection: ConnectionId; event: Event }
  /** It could not be taken in: its sender is told. */
  | { type: "refused"; connection: ConnectionId; event: Event; error: BytebotError }
  | { type: "closed"; connection: ConnectionId; reason: string }
  | { type: "joined"; connection: ConnectionId; cell: string }
  | { type: "caught_up"; connection: ConnectionId; through: number }
  /** The cell's log is full: it begins anew with what it has come to. */
  | { type: "base"; cell: string }
  /** What the log has of a cell. */
  | { type: "restore"; conversations: readonly Conversation[] }
  /** What the log says that a tenant has used up. */
  | { type: "spent"; tenant: string; spent: Spent | undefined }
  /** The log has something from before: so had the app components, which may still be on their way. */
  | { type: "restarted" }
  /** Goes on with what was held, or ends it. */
  | { type: "resume"; scope: string; how: "resume" | "end" }
  | { type: "logged"; wide: string }
  | { type: "unload"; cell: string }
  /** It cannot be unloaded now. */
  | { type: "rested"; cell: string }
  | { type: "log_failed"; cell: string; lost: readonly Batch[]; error: BytebotError }
  | { type: "timer"; key: string }
  | { type: "forget"; componentId: string }
  | { type: "stray"; connection: ConnectionId; error: BytebotError }
  | { type: "checked"; id: string; outcome: Outcome }
  /** A conversation as it was where it is to be forked, under its new scope, which is known. */
  | { type: "forked"; connection: ConnectionId; event: Fork; conversation: Conversation };
