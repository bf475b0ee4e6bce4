import type { Event } from "./codec.ts";

/** What an answer names: the event's `id`, else what it answers itself, else its call (rule ERR-2). */
export function nameOf(event: Event): string | undefined {
  const name = event["id"] ?? event["in_reply_to"] ?? event["call_id"];
  return typeof name === "string" ? name : undefined;
}

/** Pieces of something larger, and the connection's own: whoever sends them does not wait to hear that they came. */
const UNACKNOWLEDGED = new Set([
  "infer_chunk",
  "bb_blob",
  "bb_tool_progress",
  "tool_progress",
  "bb_sync",
  "bb_sync_ack",
  "bb_ack",
  "bb_error",
  "bb_ping",
  "bb_pong",
  "bb_bye",
]);

/** What a `bb_ack` for this event names, between peers that acknowledge (`capabilities.acks`); undefined: it gets none (rule HTP-10). */
export function ackNameOf(event: Event): string | undefined {
  return UNACKNOWLEDGED.has(event.event_type) ? undefined : nameOf(event);
}
