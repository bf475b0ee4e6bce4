import { z } from "zod";
import { Block, InputBlock, Message, Usage } from "../content.ts";
import { event, Id, reply, Scope } from "../envelope.ts";

/** A tool as the model sees it; `input_schema` is JSON Schema 2020-12. */
export const ModelTool = z.looseObject({
  name: z.string(),
  description: z.string().optional(),
  input_schema: z.record(z.string(), z.unknown()),
});
export type ModelTool = z.infer<typeof ModelTool>;

export const ToolChoice = z.union([
  z.looseObject({ type: z.enum(["auto", "any", "none"]) }),
  z.looseObject({ type: z.literal("tool"), name: z.string() }),
]);
export type ToolChoice = z.infer<typeof ToolChoice>;

const Params = z.record(z.string(), z.unknown());

/** The Hub asks the context component what the model shall see this round (rule TRN-2). */
export const ContextRenderRequest = event("bb_context_render_request", {
  id: Id,
  scope: Scope,
  loop_id: Id,
  round: z.int().nonnegative(),
  infer: z.looseObject({ name: z.string(), capabilities: z.record(z.string(), z.unknown()) }).optional(),
  tools: z.array(ModelTool),
  history: z.array(Message),
  history_whole: z.boolean().optional(),
});
export type ContextRenderRequest = z.infer<typeof ContextRenderRequest>;

/** Everything but the first three is optional: absent means the Hub's default. `tools` names a subset of those offered. */
export const ContextRenderResult = reply("bb_context_render_result", {
  system: z.string().optional(),
  messages: z.array(Message).optional(),
  tools: z.array(z.union([z.string(), z.looseObject({ name: z.string() })])).optional(),
  tool_choice: ToolChoice.optional(),
  infer: z.string().optional(),
  model: z.string().optional(),
  params: Params.optional(),
});
export type ContextRenderResult = z.infer<typeof ContextRenderResult>;

export const InferRequest = event("bb_infer_request", {
  id: Id,
  loop_id: Id,
  scope: Scope,
  stream: z.boolean(),
  round: z.int().nonnegative(),
  attempt: z.int().nonnegative(),
  model: z.string().optional(),
  system: z.string().optional(),
  messages: z.array(Message),
  tools: z.array(ModelTool).optional(),
  tool_choice: ToolChoice.optional(),
  params: Params.optional(),
});
export type InferRequest = z.infer<typeof InferRequest>;

export const stopReasons = ["end_turn", "tool_use", "max_tokens", "refusal", "interrupted", "error"] as const;
export const StopReason = z.enum(stopReasons);
export type StopReason = z.infer<typeof StopReason>;

export const InferResult = reply("bb_infer_result", {
  loop_id: Id.optional(),
  stop_reason: StopReason.optional(),
  content: z.array(Block).optional(),
  usage: Usage.optional(),
});
export type InferResult = z.infer<typeof InferResult>;

/** Stop working on a request or call; it is answered by the normal result (rule INT-3). */
export const Cancel = event("bb_cancel", { target: Id, reason: z.string().optional() });
export type Cancel = z.infer<typeof Cancel>;

/** A child turn: a conversation of its own below the caller's scope. */
export const TurnRequest = event("bb_turn_request", {
  id: Id,
  scope: Scope,
  call_id: Id.optional(),
  content: z.union([z.string(), z.array(InputBlock)]),
});
export type TurnRequest = z.infer<typeof TurnRequest>;

export const TurnResult = reply("bb_turn_result", {
  content: z.array(Block).optional(),
  stop_reason: StopReason.optional(),
});
export type TurnResult = z.infer<typeof TurnResult>;

/** Live only. `idle` only with an empty queue: whoever has seen it may send again at once (rule TRN-9). */
export const ScopeState = event("scope_state", {
  scope: Scope,
  state: z.enum(["running", "idle"]),
  loop_id: Id.optional(),
  stop_reason: StopReason.optional(),
});
export type ScopeState = z.infer<typeof ScopeState>;
