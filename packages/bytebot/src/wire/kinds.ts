import type { Kind } from "./events/index.ts";
import { isKnown } from "./events/index.ts";

/**
 * Who may send what to the Hub, and what the Hub sends to whom: the one table, default deny (rules KND-1 to KND-3).
 * `telemetry` sees copies of everything, marked `observed`; vendor types without `bb_` pass to UIs and telemetry.
 */
const every = ["bb_ack", "bb_error", "bb_ping", "bb_pong", "bb_bye", "bb_blob"] as const;

const conversations = ["bb_conversations", "bb_rename", "bb_fork", "bb_delete"] as const;
const conversationResults = conversations.map((type) => `${type}_result`);

const sends: Record<Kind, readonly string[]> = {
  ui: ["user_event", "interrupt", "input_reply", "bb_history_request", ...conversations],
  context: ["bb_context_render_result", "bb_input_request"],
  infer: ["infer_chunk", "bb_infer_result"],
  toolsource: ["bb_tool_register", "bb_tool_call_result", "bb_tool_progress", "bb_input_request", "bb_turn_request"],
  telemetry: [],
};

const controls = [
  "bb_attach",
  "bb_detach",
  "bb_policy",
  "bb_components",
  "bb_token",
  "bb_turn_request",
  "bb_tool_call_request",
  ...conversations,
];

const shown = [
  "user_event",
  "interrupt",
  "infer_chunk",
  "tool_call",
  "tool_progress",
  "tool_result",
  "input_strict",
  "input_resolved",
  "input_state",
  "scope_state",
  "conversation_title",
  "conversation_deleted",
];

const receives: Record<Kind, readonly string[]> = {
  ui: ["bb_sync_ack", ...shown, "bb_live", "bb_snapshot", "bb_history_result", ...conversationResults],
  context: ["bb_sync_ack", "bb_context_render_request", "bb_cancel", "bb_input_result"],
  infer: ["bb_sync_ack", "bb_infer_request", "bb_cancel"],
  toolsource: [
    "bb_sync_ack",
    "bb_tool_register_result",
    "bb_tool_call_request",
    "bb_cancel",
    "bb_input_result",
    "bb_turn_result",
  ],
  telemetry: ["bb_sync_ack", "bb_live"],
};

const controlResults = [
  "bb_attach_result",
  "bb_detach_result",
  "bb_policy_result",
  "bb_components_result",
  "bb_token_result",
  "bb_turn_result",
  "bb_tool_call_result",
  ...conversationResults,
];

/** Some kind or the controller may send it; what is in no row is the Hub's own. */
const sendable = new Set<string>(["bb_sync", ...every, ...controls, ...Object.values(sends).flat()]);

const sendSets = mapSets(sends);
const receiveSets = mapSets(receives);
const controlSet = new Set(controls);
const controlResultSet = new Set(controlResults);

export type Permission = "allowed" | "forbidden" | "not_authority";

/** May a connection of this kind send this type? `controller` includes the owner. */
export function maySend(kind: Kind, controller: boolean, type: string): Permission {
  if (sendSets[kind].has(type)) return "allowed";
  if (controller && controlSet.has(type)) return "allowed";
  if (!isKnown(type)) return type.startsWith("bb_") ? "forbidden" : "allowed";
  return sendable.has(type) ? "forbidden" : "not_authority";
}

/** May a connection of this kind be sent this type? */
export function mayReceive(kind: Kind, controller: boolean, type: string): boolean {
  if (receiveSets[kind].has(type) || kind === "telemetry") return true;
  if (controller && controlResultSet.has(type)) return true;
  return kind === "ui" && !isKnown(type) && !type.startsWith("bb_");
}

function mapSets(table: Record<Kind, readonly string[]>): Record<Kind, Set<string>> {
  const sets = Object.entries(table).map(([kind, types]) => [kind, new Set([...every, ...types])]);
  return Object.fromEntries(sets) as Record<Kind, Set<string>>;
}
