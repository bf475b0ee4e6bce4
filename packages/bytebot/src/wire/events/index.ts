import type { z } from "zod";
import * as chunk from "./chunk.ts";
import * as connection from "./connection.ts";
import * as control from "./control.ts";
import * as conversation from "./conversation.ts";
import * as input from "./input.ts";
import * as replay from "./replay.ts";
import * as token from "./token.ts";
import * as tool from "./tool.ts";
import * as turn from "./turn.ts";

/** Every event type of the wire and its schema; what is not here and begins with `bb_` is `unknown_type`. */
export const schemas = {
  bb_sync: connection.Sync,
  bb_sync_ack: connection.SyncAck,
  bb_ping: connection.Ping,
  bb_pong: connection.Pong,
  bb_bye: connection.Bye,
  bb_error: connection.ErrorEvent,
  bb_ack: connection.Ack,
  bb_blob: connection.Blob,
  user_event: input.UserEvent,
  interrupt: input.Interrupt,
  input_state: input.InputState,
  bb_input_request: input.InputRequest,
  bb_input_result: input.InputResult,
  input_strict: input.InputStrict,
  input_reply: input.InputReply,
  input_resolved: input.InputResolved,
  bb_context_render_request: turn.ContextRenderRequest,
  bb_context_render_result: turn.ContextRenderResult,
  bb_infer_request: turn.InferRequest,
  infer_chunk: chunk.InferChunk,
  bb_infer_result: turn.InferResult,
  bb_cancel: turn.Cancel,
  bb_turn_request: turn.TurnRequest,
  bb_turn_result: turn.TurnResult,
  scope_state: turn.ScopeState,
  bb_tool_register: tool.ToolRegister,
  bb_tool_register_result: tool.ToolRegisterResult,
  bb_tool_call_request: tool.ToolCallRequest,
  bb_tool_progress: tool.ToolProgress,
  bb_tool_call_result: tool.ToolCallResult,
  tool_call: tool.ToolCallShown,
  tool_progress: tool.ToolProgressShown,
  tool_result: tool.ToolResultShown,
  bb_live: replay.Live,
  bb_snapshot: replay.Snapshot,
  bb_history_request: replay.HistoryRequest,
  bb_history_result: replay.HistoryResult,
  bb_conversations: conversation.Conversations,
  bb_conversations_result: conversation.ConversationsResult,
  bb_rename: conversation.Rename,
  bb_rename_result: conversation.RenameResult,
  bb_fork: conversation.Fork,
  bb_fork_result: conversation.ForkResult,
  bb_delete: conversation.Delete,
  bb_delete_result: conversation.DeleteResult,
  conversation_title: conversation.ConversationTitle,
  conversation_deleted: conversation.ConversationDeleted,
  bb_attach: control.Attach,
  bb_attach_result: control.AttachResult,
  bb_detach: control.Detach,
  bb_detach_result: control.DetachResult,
  bb_policy: control.Policy,
  bb_policy_result: control.PolicyResult,
  bb_components: control.Components,
  bb_components_result: control.ComponentsResult,
  bb_token: token.Token,
  bb_token_result: token.TokenResult,
} as const;

export type EventType = keyof typeof schemas;
/** The shape of an event of this type, as `on(type, …)` delivers it. */
export type EventOf<Type extends string> = Type extends EventType
  ? z.infer<(typeof schemas)[Type]>
  : { event_type: string; [field: string]: unknown };

const known: ReadonlySet<string> = new Set(Object.keys(schemas));

export function isKnown(type: string): type is EventType {
  return known.has(type);
}

export * from "./chunk.ts";
export * from "./connection.ts";
export * from "./control.ts";
export * from "./conversation.ts";
export * from "./input.ts";
export * from "./replay.ts";
export * from "./token.ts";
export * from "./tool.ts";
export * from "./turn.ts";
