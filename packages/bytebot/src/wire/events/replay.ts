import { z } from "zod";
import { event, Id, reply, Scope } from "../envelope.ts";

/** Between what was and what is: everything after it is live (rule RPL-2). */
export const Live = event("bb_live", { scope: Scope.optional() });
export type Live = z.infer<typeof Live>;

/** Stands for what is older than the log keeps. */
export const Snapshot = event("bb_snapshot", { scope: Scope, state: z.record(z.string(), z.unknown()) });
export type Snapshot = z.infer<typeof Snapshot>;

/** Pages backwards through one conversation: the newest `limit` events before the cursor `before`. */
export const HistoryRequest = event("bb_history_request", {
  id: Id,
  scope: Scope,
  before: z.string().max(256).optional(),
  limit: z.int().positive().max(1000).optional(),
});
export type HistoryRequest = z.infer<typeof HistoryRequest>;

export const HistoryResult = reply("bb_history_result", {
  events: z.array(z.looseObject({ event_type: z.string() })).optional(),
  more: z.boolean().optional(),
});
export type HistoryResult = z.infer<typeof HistoryResult>;
