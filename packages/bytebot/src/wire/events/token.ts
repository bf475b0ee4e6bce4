import { z } from "zod";
import { event, Id, reply, ScopePattern } from "../envelope.ts";
import { Principal } from "../principal.ts";
import { Kind } from "./connection.ts";

/** Ten years. */
const MAX_EXPIRES_MS = 10 * 365 * 24 * 3_600_000;

/**
 * What a token lets its bearer be (rule TOK-1). A field that is not known is refused: left out, it would give more than
 * was meant.
 */
export const TokenGrant = z.strictObject({
  /** The component's id; absent: any number of components, each named by its own `bb_sync`. */
  name: z
    .string()
    .regex(/^[\w.@:-]{1,64}$/, "a name is 1 to 64 letters, digits and _.@:-")
    .optional(),
  /** Absent: from an owner's token any, else `ui`. */
  kind: Kind.optional(),
  /** Absent: those of its maker. */
  scopes: z.array(ScopePattern).min(1).max(64).optional(),
  principal: Principal.optional(),
  /** Its bearer serves several people, and says who they are (rule PRN-2). */
  vouches: z.boolean().optional(),
  primary: z.boolean().optional(),
  controller: z.boolean().optional(),
  input_capable: z.boolean().optional(),
  /** Telemetry: message content too. */
  content: z.boolean().optional(),
});
export type TokenGrant = z.infer<typeof TokenGrant>;

const TokenId = z.string().regex(/^t_[0-9a-f]{16}$/, "a token's id is t_ and 16 hex digits");

/** Makes a token, takes one back, or lists them. */
export const Token = event("bb_token", {
  id: Id,
  action: z.enum(["mint", "list", "revoke"]),
  /** Of `mint`. */
  grant: TokenGrant.optional(),
  /** Of `mint`: how long it is good for, in milliseconds. */
  expires_ms: z.int().min(1).max(MAX_EXPIRES_MS).optional(),
  /** Of `revoke`. */
  token_id: TokenId.optional(),
});
export type Token = z.infer<typeof Token>;

/** A token as whoever lists them sees it. Times in milliseconds since 1970. */
export const TokenInfo = z.looseObject({
  token_id: TokenId,
  grant: TokenGrant,
  /** The component that made it; `app`: the app's own. */
  made_by: z.string(),
  made_at: z.number(),
  expires_at: z.number().optional(),
});
export type TokenInfo = z.infer<typeof TokenInfo>;

export const TokenResult = reply("bb_token_result", {
  /** Of `mint`, this once: it is kept nowhere. */
  token: z.string().optional(),
  token_id: TokenId.optional(),
  expires_at: z.number().optional(),
  tokens: z.array(TokenInfo).optional(),
});
export type TokenResult = z.infer<typeof TokenResult>;
