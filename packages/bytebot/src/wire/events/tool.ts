import { z } from "zod";
import { InputBlock } from "../content.ts";
import { event, Id, reply, Scope } from "../envelope.ts";
import { Principal } from "../principal.ts";

/** Absent means false: nothing is assumed harmless (rule TOL-2). */
const Annotations = z.looseObject({
  read_only: z.boolean().optional(),
  destructive: z.boolean().optional(),
  idempotent: z.boolean().optional(),
});

export const ToolDefinition = z.looseObject({
  name: z.string().min(1).max(128),
  description: z
    .string()
    .max(16 * 1024)
    .optional(),
  input_schema: z.record(z.string(), z.unknown()),
  annotations: Annotations.optional(),
  timeout_ms: z.int().positive().optional(),
});
export type ToolDefinition = z.infer<typeof ToolDefinition>;

/** Replaces the component's set whole, or changes nothing (rule TOL-1). */
export const ToolRegister = event("bb_tool_register", { id: Id, tools: z.array(ToolDefinition).max(1024) });
export type ToolRegister = z.infer<typeof ToolRegister>;

export const ToolRegisterResult = reply("bb_tool_register_result", {
  tools: z.array(z.looseObject({ id: z.string(), name: z.string(), model_name: z.string() })).optional(),
});
export type ToolRegisterResult = z.infer<typeof ToolRegisterResult>;

/** The only event that executes anything. From the Hub; or, with `id`, the owner's wish for one. */
export const ToolCallRequest = event("bb_tool_call_request", {
  id: Id.optional(),
  call_id: Id.optional(),
  name: z.string(),
  input: z.unknown(),
  scope: Scope,
  loop_id: Id.optional(),
  /** Milliseconds since 1970. */
  deadline_ts: z.number().optional(),
  /** Whose wish it was. */
  principal: Principal.optional(),
  /** Who allowed it, where the policy asked. */
  approved_by: Principal.optional(),
});
export type ToolCallRequest = z.infer<typeof ToolCallRequest>;

export const ToolProgress = event("bb_tool_progress", {
  call_id: Id,
  text: z
    .string()
    .max(16 * 1024)
    .optional(),
  fraction: z.number().min(0).max(1).optional(),
});
export type ToolProgress = z.infer<typeof ToolProgress>;

export const callStatuses = ["ok", "error", "denied", "cancelled", "timeout", "lost"] as const;
export const CallStatus = z.enum(callStatuses);
export type CallStatus = z.infer<typeof CallStatus>;

export const ToolCallResult = event("bb_tool_call_result", {
  call_id: Id.optional(),
  success: z.boolean(),
  status: CallStatus.optional(),
  content: z.array(InputBlock).optional(),
  error: z.looseObject({ code: z.string(), message: z.string(), retryable: z.boolean() }).optional(),
  /** The Hub wrote it: the component did not answer. */
  synthetic: z.boolean().optional(),
});
export type ToolCallResult = z.infer<typeof ToolCallResult>;

/** Presentation, for UIs: shows a logged request, a progress, a logged result; never causes anything (rule TRN-6). */
export const ToolCallShown = event("tool_call", {
  scope: Scope,
  call_id: Id,
  name: z.string(),
  input: z.unknown(),
  loop_id: Id.optional(),
  principal: Principal.optional(),
  approved_by: Principal.optional(),
});
export type ToolCallShown = z.infer<typeof ToolCallShown>;

export const ToolProgressShown = event("tool_progress", {
  scope: Scope,
  call_id: Id,
  text: z.string().optional(),
  fraction: z.number().optional(),
});
export type ToolProgressShown = z.infer<typeof ToolProgressShown>;

export const ToolResultShown = event("tool_result", {
  scope: Scope,
  call_id: Id,
  name: z.string().optional(),
  success: z.boolean(),
  status: CallStatus,
  content: z.array(InputBlock).optional(),
});
export type ToolResultShown = z.infer<typeof ToolResultShown>;
