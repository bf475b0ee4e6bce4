import { z } from "zod";
import { OpenaiMessage, OpenaiTool, OpenaiToolChoice } from "../convert/openai.ts";
import { Block, InputBlock, Message, Usage } from "../content.ts";
import { event, Id, reply, Scope } from "../envelope.ts";
import { Principal } from "../principal.ts";

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

/** The shape of an event's messages, tools and tool choice; absent means "anthropic" (rule CNV-1). */
export const ApiShape = z.enum(["anthropic", "openai"]);
export type ApiShape = z.infer<typeof ApiShape>;
const canonical = { api_shape: z.literal("anthropic").optional() };
const openai = { api_shape: z.literal("openai") };

const render = {
  id: Id,
  scope: Scope,
  loop_id: Id,
  round: z.int().nonnegative(),
  infer: z.looseObject({ name: z.string(), capabilities: z.record(z.string(), z.unknown()) }).optional(),
  history_whole: z.boolean().optional(),
};
const AnthropicRenderRequest = event("bb_context_render_request", {
  ...render,
  ...canonical,
  tools: z.array(ModelTool),
  history: z.array(Message),
});
const OpenaiRenderRequest = event("bb_context_render_request", {
  ...render,
  ...openai,
  tools: z.array(OpenaiTool),
  history: z.array(OpenaiMessage),
});

/** The Hub asks the context component what the model shall see this round (rule TRN-2). */
export const ContextRenderRequest = z.discriminatedUnion("api_shape", [AnthropicRenderRequest, OpenaiRenderRequest]);
export type ContextRenderRequest = z.infer<typeof AnthropicRenderRequest>;
export type OpenaiRenderRequest = z.infer<typeof OpenaiRenderRequest>;

const rendered = {
  system: z.string().optional(),
  infer: z.string().optional(),
  model: z.string().optional(),
  params: Params.optional(),
};
const Named = z.union([z.string(), z.looseObject({ name: z.string() })]);
const AnthropicRenderResult = reply("bb_context_render_result", {
  ...rendered,
  ...canonical,
  messages: z.array(Message).optional(),
  tools: z.array(Named).optional(),
  tool_choice: ToolChoice.optional(),
});
const OpenaiRenderResult = reply("bb_context_render_result", {
  ...rendered,
  ...openai,
  messages: z.array(OpenaiMessage).optional(),
  tools: z.array(z.union([Named, OpenaiTool])).optional(),
  tool_choice: OpenaiToolChoice.optional(),
});

/** Everything but the first three is optional: absent means the Hub's default. `tools` names a subset of those offered. */
export const ContextRenderResult = z.discriminatedUnion("api_shape", [AnthropicRenderResult, OpenaiRenderResult]);
export type ContextRenderResult = z.infer<typeof AnthropicRenderResult>;
export type OpenaiRenderResult = z.infer<typeof OpenaiRenderResult>;

const inference = {
  id: Id,
  loop_id: Id,
  scope: Scope,
  stream: z.boolean(),
  round: z.int().nonnegative(),
  attempt: z.int().nonnegative(),
  model: z.string().optional(),
  params: Params.optional(),
};
const AnthropicInferRequest = event("bb_infer_request", {
  ...inference,
  ...canonical,
  system: z.string().optional(),
  messages: z.array(Message),
  tools: z.array(ModelTool).optional(),
  tool_choice: ToolChoice.optional(),
});
const OpenaiInferRequest = event("bb_infer_request", {
  ...inference,
  ...openai,
  messages: z.array(OpenaiMessage),
  tools: z.array(OpenaiTool).optional(),
  tool_choice: OpenaiToolChoice.optional(),
});

export const InferRequest = z.discriminatedUnion("api_shape", [AnthropicInferRequest, OpenaiInferRequest]);
export type InferRequest = z.infer<typeof AnthropicInferRequest>;
export type OpenaiInferRequest = z.infer<typeof OpenaiInferRequest>;

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

/** What a turn may use: tokens of all sorts, calls, and rounds. What is absent is not bounded by it. */
export const TurnBudget = z.looseObject({
  tokens: z.int().positive().optional(),
  calls: z.int().nonnegative().optional(),
  rounds: z.int().positive().optional(),
});
export type TurnBudget = z.infer<typeof TurnBudget>;

/** A child turn: a conversation of its own below the caller's scope. */
export const TurnRequest = event("bb_turn_request", {
  id: Id,
  scope: Scope,
  call_id: Id.optional(),
  content: z.union([z.string(), z.array(InputBlock)]),
  principal: Principal.optional(),
  budget: TurnBudget.optional(),
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
