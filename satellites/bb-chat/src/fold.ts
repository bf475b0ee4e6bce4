import type { EventOf } from "bytebot/sdk";
import type { Item } from "./items.ts";

export type Chunk = Exclude<EventOf<"infer_chunk">, { kind: "loop_done" }>;

/** A block as far as it has come. `text` of a tool_use is its arguments, as JSON text. */
export interface LiveBlock {
  type: string;
  name: string;
  text: string;
}

/** What the model is saying in the round that runs: its blocks by index. */
export interface Round {
  loopId: string;
  round: number;
  attempt: number;
  blocks: ReadonlyMap<number, LiveBlock>;
}

/** More of one block than this is not held: the whole comes with its block_stop, and the screen shows the end of it. */
const MOST_HELD = 1024 * 1024;

/**
 * The round with one chunk folded in. A higher attempt voids what the lower one said, a later round begins anew, and
 * what comes late from an earlier one is dropped. A reader that joins in mid-block gets a delta without its start.
 */
export function fold(round: Round | undefined, chunk: Chunk): Round {
  const current = placed(round, chunk);
  if (!current) return round!;
  const before = current.blocks.get(chunk.index);
  const block = folded(before, chunk);
  return block === before ? current : { ...current, blocks: new Map(current.blocks).set(chunk.index, block) };
}

function placed(open: Round | undefined, chunk: Chunk): Round | undefined {
  const { loop_id: loopId = "", round = 0, attempt = 0 } = chunk;
  if (open?.loopId !== loopId) return { loopId, round, attempt, blocks: new Map() };
  if (round === open.round && attempt === open.attempt) return open;
  const older = round < open.round || (round === open.round && attempt < open.attempt);
  return older ? undefined : { loopId, round, attempt, blocks: new Map() };
}

function folded(block: LiveBlock | undefined, chunk: Chunk): LiveBlock {
  switch (chunk.kind) {
    case "block_start":
      return { type: chunk.block_type, name: chunk.name ?? "", text: "" };
    case "block_delta": {
      const open = block ?? { type: chunk.block_type, name: "", text: "" };
      return open.text.length > MOST_HELD ? open : { ...open, text: open.text + chunk.delta };
    }
    case "block_stop":
      return whole(chunk.block) ?? block ?? { type: "text", name: "", text: "" };
  }
}

function whole(block: Extract<Chunk, { kind: "block_stop" }>["block"]): LiveBlock | undefined {
  if (typeof block?.["text"] === "string") return { type: "text", name: "", text: block["text"] };
  if (typeof block?.["thinking"] === "string") return { type: "thinking", name: "", text: block["thinking"] };
  if (block?.type !== "tool_use") return undefined;
  return { type: "tool_use", name: String(block["name"]), text: JSON.stringify(block["input"] ?? {}) };
}

/** What a round that is over leaves on the screen; its calls are shown as calls. */
export function settled(round: Round | undefined): Item[] {
  if (!round) return [];
  const blocks = [...round.blocks.entries()].sort(([a], [b]) => a - b).map(([, block]) => block);
  return blocks
    .filter(({ type, text }) => (type === "text" || type === "thinking") && text.trim() !== "")
    .map(({ type, text }) => ({ type: type as "text" | "thinking", text }));
}
