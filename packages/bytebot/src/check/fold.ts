import { InferChunk, type Event } from "../wire/index.ts";

interface Open {
  type: string;
  text: string;
  name?: string;
}

/** What an answer's chunks add up to, as a Hub folds them. */
export interface Folded {
  /** Text by index, of blocks that had deltas. */
  blocks: Map<number, { type: string; text: string; name?: string; block?: Record<string, unknown> }>;
  /** The first chunk that does not fit, and why (rule CHK-1). */
  misfit?: { chunk: Event; why: string };
}

export function fold(chunks: readonly Event[]): Folded {
  const folded: Folded = { blocks: new Map() };
  const open = new Map<number, Open>();
  for (const chunk of chunks) {
    const why = take(chunk, open, folded.blocks);
    if (why === undefined) continue;
    folded.misfit = { chunk, why };
    break;
  }
  for (const [index, block] of open) folded.blocks.set(index, block);
  return folded;
}

function take(event: Event, open: Map<number, Open>, done: Folded["blocks"]): string | undefined {
  const parsed = InferChunk.safeParse(event);
  // Its fields are another check's.
  if (!parsed.success || parsed.data.kind === "loop_done") return undefined;
  const chunk = parsed.data;
  const { index } = chunk;
  if (done.has(index)) return `block ${index} was closed already`;
  const block = open.get(index);
  switch (chunk.kind) {
    case "block_start":
      if (block) return `block ${index} was started already`;
      if (chunk.block_type === "tool_use" && chunk.name === undefined) return "the start of a tool_use has no name";
      open.set(index, { type: chunk.block_type, text: "", ...(chunk.name === undefined ? {} : { name: chunk.name }) });
      return undefined;
    case "block_delta":
      if (!block && chunk.block_type === "tool_use") return `block ${index}, a tool_use, has no start`;
      if (block && block.type !== chunk.block_type) return `block ${index} is ${block.type}, not ${chunk.block_type}`;
      open.set(index, { ...(block ?? { type: chunk.block_type }), text: (block?.text ?? "") + chunk.delta });
      return undefined;
    case "block_stop":
      if (!block && !chunk.block) return `block ${index} is not open, and comes without a block`;
      open.delete(index);
      done.set(index, { ...(block ?? ofWhole(chunk.block!)), ...(chunk.block ? { block: chunk.block } : {}) });
      return undefined;
  }
}

function ofWhole(block: Record<string, unknown>): Open {
  const name = typeof block["name"] === "string" ? { name: block["name"] } : {};
  return { type: String(block["type"]), text: textOf(block), ...name };
}

/** What a whole block says; a tool_use's arguments as JSON. */
export function textOf(block: Record<string, unknown>): string {
  if (block["type"] === "text") return String(block["text"]);
  if (block["type"] === "thinking") return String(block["thinking"]);
  return block["type"] === "tool_use" ? JSON.stringify(block["input"]) : "";
}
