import type { Event } from "../wire/index.ts";

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
    default:
      return logged.event_type.startsWith("bb_") ? undefined : logged;
  }
}

/** Fields that hold what people and models said: left out of what telemetry sees, unless it was granted. */
const CONTENT = [
  "text",
  "content",
  "delta",
  "block",
  "input",
  "messages",
  "system",
  "history",
  "value",
  "prompt",
  "tools",
  "approval",
  "events",
];

export function withoutContent(event: Event): Event {
  const bare = { ...event };
  for (const field of CONTENT) delete bare[field];
  return bare;
}
