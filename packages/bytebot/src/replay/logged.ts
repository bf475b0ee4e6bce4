import type { Event } from "../wire/index.ts";

/** What the log of a cell holds (spec, "Log"). */
const LOGGED = new Set([
  "user_event",
  "interrupt",
  "input_state",
  "bb_infer_request",
  "bb_infer_result",
  "bb_tool_call_request",
  "bb_tool_call_result",
  "tool_call",
  "input_strict",
  "input_resolved",
  "conversation_title",
  "conversation_deleted",
  "bb_snapshot",
]);

export function isLogged({ event_type, kind, reached }: Event): boolean {
  // What it did stands in the cells that it reached; this says that it has done so (rule INT-6).
  if (event_type === "interrupt" && reached !== undefined) return false;
  if (event_type === "infer_chunk") return kind === "block_stop" || kind === "loop_done";
  return LOGGED.has(event_type);
}

/** A logged call or result as UIs are shown it: it stands for the logged one where that is not there itself. */
export function isShown({ event_type }: Event): boolean {
  return event_type === "tool_call" || event_type === "tool_result";
}

/** A copy for telemetry that may not see content: what was said is not in it (rule KND-4). */
export function isBare(event: Event): boolean {
  switch (event.event_type) {
    case "user_event":
      return event["text"] === undefined && event["content"] === undefined;
    case "infer_chunk":
      return event["kind"] === "block_stop" && event["block"] === undefined;
    case "bb_tool_call_request":
    case "tool_call":
      return event["input"] === undefined;
    case "bb_tool_call_result":
    case "tool_result":
      return event["content"] === undefined;
    case "input_strict":
      return event["prompt"] === undefined;
    case "conversation_title":
      return event["title"] === undefined;
    case "bb_snapshot":
      return false;
    default:
      return typeof event["error"] === "object" && (event["error"] as { message?: unknown })?.message === undefined;
  }
}

/** What a copy, a transcript, an export or a request on its way has beside what the log has. */
const BESIDE = new Set(["to", "observed", "primary", "_entry"]);
const OF_REQUEST = new Set([...BESIDE, "messages", "tools", "tool_choice", "system", "params", "api_shape"]);

/** The event as the log has it: itself, where nothing is to be left out. */
export function toLogged(event: Event): Event {
  const beside = event.event_type === "bb_infer_request" ? OF_REQUEST : BESIDE;
  const isResult = event.event_type === "tool_result";
  const fields = Object.keys(event);
  if (!isResult && !fields.some((field) => beside.has(field))) return event;
  const logged: Event = { event_type: isResult ? "bb_tool_call_result" : event.event_type };
  for (const field of fields) if (field !== "event_type" && !beside.has(field)) logged[field] = event[field];
  return logged;
}

/** Names an answer within its cell. */
export function placeOf({ scope, loop_id, round, attempt }: Event): string {
  return `${String(scope)} ${String(loop_id)} ${String(round)} ${Number(attempt ?? 0)}`;
}

/** The text of a result's first block. */
export function firstText({ content }: Event): string {
  const [first] = Array.isArray(content) ? (content as Record<string, unknown>[]) : [];
  return typeof first?.["text"] === "string" ? first["text"] : "";
}
