import { z } from "zod";
import { isScope } from "./scope.ts";

export const ID = /^[\x21-\x7e]{1,128}$/;
/** Names one request, call or block of work: 1 to 128 visible ASCII characters, random, never a counter that restarts. */
export const Id = z.string().regex(ID, "an id is 1 to 128 visible ASCII characters");
export const Scope = z.string().refine(isScope, "not a scope: 1 to 8 segments of [A-Za-z0-9._@:-] or %XX, joined by /");
/** A scope, or "*" for all of them: only in grants and filters, never on an event. */
export const ScopePattern = z.string().refine((value) => value === "*" || isScope(value), "neither a scope nor *");

export const WireErrorShape = z.looseObject({
  code: z.string(),
  message: z.string(),
  retryable: z.boolean(),
  retry_after_ms: z.number().nonnegative().optional(),
  data: z.unknown().optional(),
});

/** What any event may carry beside its own fields (rules ENV-1 to ENV-9). */
const common = {
  id: Id.optional(),
  in_reply_to: Id.optional(),
  scope: Scope.optional(),
  seq: z.int().nonnegative().optional(),
  cursor: z.string().max(256).optional(),
  /** Milliseconds since 1970, by the Hub's clock; never used for order. */
  ts: z.number().optional(),
  from: z.string().max(256).optional(),
  observed: z.boolean().optional(),
  _meta: z.record(z.string(), z.unknown()).optional(),
};

/** The event's own fields over the envelope's: where both name one, the event's counts. */
type Shape<Type extends string, Fields extends z.ZodRawShape> = Omit<typeof common, keyof Fields> &
  Fields & { event_type: z.ZodLiteral<Type> };

/** A schema of one event type: its literal `event_type`, the envelope, its own fields, and whatever else was sent. */
export function event<Type extends string, Fields extends z.ZodRawShape>(type: Type, fields: Fields) {
  return z.looseObject({ event_type: z.literal(type), ...common, ...fields } as unknown as Shape<Type, Fields>);
}

/** An answer: correlated by (connection, in_reply_to); a failure always says why (rule ENV-10). */
export function reply<Type extends string, Fields extends z.ZodRawShape>(type: Type, fields: Fields) {
  return event(type, { in_reply_to: Id, success: z.boolean(), error: WireErrorShape.optional(), ...fields });
}
