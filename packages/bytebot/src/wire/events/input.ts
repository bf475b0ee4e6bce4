import { z } from "zod";
import { InputBlock } from "../content.ts";
import { event, Id, reply, Scope } from "../envelope.ts";
import { Principal } from "../principal.ts";
import { fates } from "./connection.ts";

export const modes = ["queue", "steer", "replace", "refuse"] as const;

/** What a person sent. `text` is short for one text block. */
export const UserEvent = event("user_event", {
  id: Id.optional(),
  type: z.string().min(1).max(64),
  scope: Scope,
  text: z.string().optional(),
  content: z.array(InputBlock).optional(),
  mode: z.enum(modes).optional(),
  /** Who said it (rule PRN-2). */
  principal: Principal.optional(),
});
export type UserEvent = z.infer<typeof UserEvent>;

/** Stops what was started in `scope` and below before it, and nothing else (rule INT-1). */
export const Interrupt = event("interrupt", {
  id: Id.optional(),
  scope: Scope,
  reason: z.string().max(1024).optional(),
  principal: Principal.optional(),
});
export type Interrupt = z.infer<typeof Interrupt>;

/** What became of an input that was not delivered. */
export const InputState = event("input_state", { id: Id, scope: Scope, fate: z.enum(fates) });
export type InputState = z.infer<typeof InputState>;

/** What an approval binds: this tool, as it was defined then, with these arguments; and whose answer counts. */
const Approval = z.looseObject({
  name: z.string(),
  input: z.unknown(),
  tool_hash: z.string(),
  /** Patterns of principals; absent: whoever may answer questions. */
  approvers: z.array(z.string()).optional(),
  /** How long `remember` binds at most, in milliseconds. */
  remember_ms: z.number().optional(),
});

const question = {
  prompt: z.string().max(64 * 1024),
  /** JSON Schema of the value. */
  schema: z.record(z.string(), z.unknown()).optional(),
  options: z.array(z.string().max(256)).min(1).max(64).optional(),
  call_id: Id.optional(),
  /** Milliseconds since 1970. */
  expires_at: z.number().optional(),
};

/** A component asks the person. */
export const InputRequest = event("bb_input_request", { id: Id, scope: Scope.optional(), ...question });
export type InputRequest = z.infer<typeof InputRequest>;

export const outcomes = ["accepted", "declined", "cancelled", "expired"] as const;

export const InputResult = reply("bb_input_result", {
  outcome: z.enum(outcomes),
  value: z.unknown().optional(),
});
export type InputResult = z.infer<typeof InputResult>;

/** The question as every input-capable UI of the scope sees it; `id` is the Hub's. */
export const InputStrict = event("input_strict", {
  id: Id,
  scope: Scope,
  primary: z.boolean().optional(),
  approval: Approval.optional(),
  ...question,
});
export type InputStrict = z.infer<typeof InputStrict>;

/** A UI's answer. An unknown outcome means declined (rule QUE-3). */
export const InputReply = event("input_reply", {
  id: Id.optional(),
  in_reply_to: Id,
  outcome: z.string().max(64),
  value: z.unknown().optional(),
  /** How long an approval binds, in milliseconds since 1970: no longer than the Hub would have it. */
  expires_at: z.number().optional(),
  principal: Principal.optional(),
});
export type InputReply = z.infer<typeof InputReply>;

export const InputResolved = event("input_resolved", {
  id: Id,
  scope: Scope,
  outcome: z.enum(outcomes),
  /** The component that answered, and the person. */
  by: z.string().optional(),
  principal: Principal.optional(),
  /** Of an approval: what was chosen, and how long it binds, in milliseconds since 1970. */
  choice: z.string().optional(),
  expires_at: z.number().optional(),
});
export type InputResolved = z.infer<typeof InputResolved>;
