import { z } from "zod";
import { BlobRef } from "../content.ts";
import { event, Id, ScopePattern } from "../envelope.ts";
import { Principal } from "../principal.ts";

export const kinds = ["ui", "context", "infer", "toolsource", "telemetry"] as const;
export const Kind = z.enum(kinds);
export type Kind = z.infer<typeof Kind>;

const Capabilities = z.record(z.string(), z.unknown());

/** The first event on any connection: what a satellite says it is. It narrows its grant, never widens it (rule CON-3). */
export const Sync = event("bb_sync", {
  kind: Kind,
  input_capable: z.boolean().optional(),
  primary: z.boolean().optional(),
  controller: z.boolean().optional(),
  owner: z.boolean().optional(),
  language: z.string().max(64).optional(),
  protocol_version: z.int().positive().optional(),
  capabilities: Capabilities.optional(),
  name: z.string().min(1).max(64).optional(),
  version: z.string().max(64).optional(),
  /** None would be a connection that counts to no tenant (rule QTA-1). */
  scopes: z.array(ScopePattern).min(1).max(64).optional(),
  types: z.array(z.string().max(128)).max(128).optional(),
  resume: z.union([z.literal("start"), z.array(z.string().max(256)).max(64)]).optional(),
});
export type Sync = z.infer<typeof Sync>;

export const SyncAck = event("bb_sync_ack", {
  in_reply_to: Id.optional(),
  component_id: z.string(),
  protocol_version: z.int().positive(),
  kind: Kind,
  scopes: z.array(ScopePattern),
  input_capable: z.boolean(),
  primary: z.boolean(),
  controller: z.boolean(),
  /** Who its person is (rule PRN-2). */
  principal: Principal.optional(),
  limits: z.looseObject({
    line_bytes: z.int().positive(),
    values: z.int().positive(),
    depth: z.int().positive(),
    /** The most bytes of a blob. */
    blob_bytes: z.int().positive().optional(),
  }),
  hub: z.looseObject({ name: z.string(), version: z.string() }),
});
export type SyncAck = z.infer<typeof SyncAck>;

export const Ping = event("bb_ping", {});
export type Ping = z.infer<typeof Ping>;
export const Pong = event("bb_pong", {});
export type Pong = z.infer<typeof Pong>;

export const Bye = event("bb_bye", { reason: z.string() });
export type Bye = z.infer<typeof Bye>;

/** A refusal of one event, or of a line that was none; the link goes on. */
export const ErrorEvent = event("bb_error", {
  code: z.string(),
  message: z.string(),
  retryable: z.boolean(),
  retry_after_ms: z.number().nonnegative().optional(),
  data: z.unknown().optional(),
});
export type ErrorEvent = z.infer<typeof ErrorEvent>;

export const fates = ["started", "queued", "steering", "refused", "returned"] as const;

/**
 * For input: it is durable, and what became of it. An interrupt's or a reply's carries no fate (rule INP-2). In the answer
 * of an inbox it may stand for an event that has no name (rule HTP-4).
 */
export const Ack = event("bb_ack", {
  in_reply_to: Id.optional(),
  fate: z.enum(fates).optional(),
});
export type Ack = z.infer<typeof Ack>;

/**
 * Bytes on their way, in parts of base64, where there is no HTTP path for them. Either way: with `data` a part; without,
 * `id` and `ref` ask for a blob, `in_reply_to` and `ref` say that one was kept (rules BLB-2 and BLB-5).
 */
export const Blob = event("bb_blob", {
  part: z.int().nonnegative().optional(),
  last: z.boolean().optional(),
  data: z.string().optional(),
  ref: BlobRef.optional(),
  size: z.int().nonnegative().optional(),
  mime_type: z
    .string()
    .regex(/^[\x20-\x7e]{1,128}$/, "1 to 128 visible ASCII characters")
    .optional(),
});
export type Blob = z.infer<typeof Blob>;
