import type { Event } from "../../wire/index.ts";

/**
 * A logged event as UIs see it, or undefined where it is not for them. A shown call or result never causes anything:
 * it has a type of its own (rule TRN-6).
 */
export function present(logged: Event): Event | undefined {
  switch (logged.event_type) {
    case "bb_tool_call_request": {
      const { event_type: _, deadline_ts: __, ...shown } = logged;
      return { event_type: "tool_call", ...shown };
    }
    case "bb_tool_call_result": {
      const { event_type: _, in_reply_to: __, ...shown } = logged;
      return { event_type: "tool_result", ...shown };
    }
    case "bb_snapshot":
      return logged["forked_from"] === undefined ? undefined : logged;
    default:
      return logged.event_type.startsWith("bb_") ? undefined : logged;
  }
}

/** Types that are sent on as they were logged: seen once, when they leave. */
export const SENT_ON: ReadonlySet<string> = new Set(["bb_infer_request", "bb_tool_call_request"]);

/** The type that a logged event is shown as. */
export function shownAs({ event_type }: Event): string {
  if (event_type === "bb_tool_call_request") return "tool_call";
  return event_type === "bb_tool_call_result" ? "tool_result" : event_type;
}

/** A token is for who asked for it alone, not for who reads along. */
export function withoutSecret(event: Event): Event {
  if (event.event_type !== "bb_token_result" || !("token" in event)) return event;
  const { token: _, ...rest } = event;
  return rest;
}

/**
 * The fields of an event that say nothing of what people and models said: all that telemetry sees without the content
 * grant. A list of what may pass, so that a field nobody thought of does not (rule KND-4).
 */
const BARE = new Set(
  (
    "event_type id in_reply_to scope seq cursor ts from observed kind index block_type n merged round attempt loop_id " +
    "call_id name model stream status success synthetic stop_reason usage state fate outcome by mode type primary " +
    "controller owner input_capable language protocol_version capabilities component_id limits hub deadline_ts expires_at " +
    "code retryable retry_after_ms target history_whole fraction more"
  ).split(" "),
);

export function withoutContent(event: Event): Event {
  const bare: Event = { event_type: event.event_type };
  for (const field in event) if (BARE.has(field)) bare[field] = event[field];
  // Of a scope it is a word; of a snapshot, all that was said.
  if (typeof bare["state"] === "object") delete bare["state"];
  const error = event["error"] as { code?: unknown; retryable?: unknown } | undefined;
  if (error) bare["error"] = { code: error.code, retryable: error.retryable };
  return bare;
}
