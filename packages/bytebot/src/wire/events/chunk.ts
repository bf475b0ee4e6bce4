import { z } from "zod";
import { Block } from "../content.ts";
import { event, Id, WireErrorShape } from "../envelope.ts";
import { MAX_BLOCK_INDEX } from "../limits.ts";
import { StopReason } from "./turn.ts";

export const BlockType = z.enum(["text", "thinking", "tool_use"]);
export type BlockType = z.infer<typeof BlockType>;

/** The Hub adds these; `n` rises by one from 0 in each (loop, round, attempt), `merged` counts deltas joined into one. */
const place = {
  loop_id: Id.optional(),
  round: z.int().nonnegative().optional(),
  attempt: z.int().nonnegative().optional(),
  n: z.int().nonnegative().optional(),
  merged: z.int().positive().optional(),
};
const index = z.int().nonnegative().max(MAX_BLOCK_INDEX);

export const BlockStart = event("infer_chunk", {
  ...place,
  kind: z.literal("block_start"),
  index,
  block_type: BlockType,
  name: z.string().optional(),
});
export type BlockStart = z.infer<typeof BlockStart>;

export const BlockDelta = event("infer_chunk", {
  ...place,
  kind: z.literal("block_delta"),
  index,
  block_type: BlockType,
  delta: z.string(),
});
export type BlockDelta = z.infer<typeof BlockDelta>;

/** Durable, with the whole block: it replaces what (`loop_id`, `round`, `index`) said before. */
export const BlockStop = event("infer_chunk", {
  ...place,
  kind: z.literal("block_stop"),
  index,
  block: Block.optional(),
});
export type BlockStop = z.infer<typeof BlockStop>;

/** From the Hub, durable: the one terminal event of every loop. */
export const LoopDone = event("infer_chunk", {
  ...place,
  kind: z.literal("loop_done"),
  stop_reason: StopReason,
  error: WireErrorShape.optional(),
});
export type LoopDone = z.infer<typeof LoopDone>;

export const InferChunk = z.discriminatedUnion("kind", [BlockStart, BlockDelta, BlockStop, LoopDone]);
export type InferChunk = z.infer<typeof InferChunk>;
