import { z } from "zod";

/** `sha256-` and the hash of the bytes in lower-case hex. */
export const BlobRef = z.string().regex(/^sha256-[0-9a-f]{64}$/, "a ref is sha256- and 64 lower-case hex digits");

/** Content by reference: the bytes travel apart, under the scope's check (rule BLB-1). `size` in bytes; `name` for people. */
export const BlobBlock = z.looseObject({
  type: z.literal("blob"),
  ref: BlobRef,
  mime_type: z.string(),
  size: z.int().nonnegative(),
  name: z.string().max(256).optional(),
});
export type BlobBlock = z.infer<typeof BlobBlock>;

export const TextBlock = z.looseObject({ type: z.literal("text"), text: z.string() });
export type TextBlock = z.infer<typeof TextBlock>;

const media = { mime_type: z.string(), data: z.string() };
const MediaBlock = z.looseObject({ type: z.enum(["image", "audio", "file"]), ...media });

/** `origin` is the Hub's: which infer and model signed it; to no other does it go back (rule CNV-8). */
export const ThinkingBlock = z.looseObject({
  type: z.literal("thinking"),
  thinking: z.string(),
  signature: z.string().optional(),
  origin: z.string().optional(),
});
export type ThinkingBlock = z.infer<typeof ThinkingBlock>;

/** `id` is the Hub's `call_id`; the provider's own id stays beside it as `alias`. */
export const ToolUseBlock = z.looseObject({
  type: z.literal("tool_use"),
  id: z.string().optional(),
  name: z.string(),
  input: z.unknown(),
  alias: z.string().optional(),
});
export type ToolUseBlock = z.infer<typeof ToolUseBlock>;

const ToolResultPart = z.union([TextBlock, MediaBlock, BlobBlock]);

export const ToolResultBlock = z.looseObject({
  type: z.literal("tool_result"),
  tool_use_id: z.string(),
  content: z.array(ToolResultPart),
  is_error: z.boolean().optional(),
});
export type ToolResultBlock = z.infer<typeof ToolResultBlock>;

/** A content block, in the shape of Anthropic's messages. */
export const Block = z.union([TextBlock, ThinkingBlock, ToolUseBlock, ToolResultBlock, MediaBlock, BlobBlock]);
export type Block = z.infer<typeof Block>;

/** What a person or a tool may send: no thinking, no tool use of its own making. */
export const InputBlock = z.union([TextBlock, MediaBlock, BlobBlock]);
export type InputBlock = z.infer<typeof InputBlock>;

export const Message = z.looseObject({ role: z.enum(["user", "assistant"]), content: z.array(Block) });
export type Message = z.infer<typeof Message>;

/** Tokens; an absent count is unknown, which is not zero. */
export const Usage = z.looseObject({
  input_tokens: z.number().nonnegative().optional(),
  output_tokens: z.number().nonnegative().optional(),
  cache_read_tokens: z.number().nonnegative().optional(),
  cache_write_tokens: z.number().nonnegative().optional(),
});
export type Usage = z.infer<typeof Usage>;
