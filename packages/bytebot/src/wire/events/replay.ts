import { z } from "zod";
import { Message } from "../content.ts";
import { event, Id, reply, Scope } from "../envelope.ts";
import { ForkedFrom } from "./conversation.ts";

/** Between what was and what is: everything after it is live (rule RPL-2). Its `cursor`: where the log stands. */
export const Live = event("bb_live", { scope: Scope.optional() });
export type Live = z.infer<typeof Live>;

/** Stands for what is older than the log keeps (rule RPL-7). */
export const Snapshot = event("bb_snapshot", {
  scope: Scope,
  /** Of the first of a conversation that was forked off. */
  forked_from: ForkedFrom.optional(),
  title: z.string().optional(),
  /** Absent for a telemetry without the content grant. */
  state: z
    .looseObject({
      messages: z.array(Message),
      /** What had begun and is in no message: waiting input, blocks, calls; as UIs were shown it. */
      open: z.array(z.looseObject({ event_type: z.string() })),
      /** Something older was left out. */
      more: z.boolean(),
    })
    .optional(),
});
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
