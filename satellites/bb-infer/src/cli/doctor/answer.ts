import type { Block, InferEnd, InferReply, ToolUseReply } from "bytebot/sdk";

/** Characters of an answer that are kept, and blocks: a model that never ends is stopped by the deadline, not by memory. */
const MOST = 1_000_000;
const BLOCKS = 1_000;

/** What came of one request, as it came. */
export class Answer implements InferReply {
  readonly blocks: Block[] = [];
  /** How it ended; undefined while it has not. */
  end: InferEnd | undefined;
  /** Deltas so far, of any kind. */
  deltas = 0;
  /** Milliseconds from the request to its first delta, and to its end. */
  firstMs: number | undefined;
  ms = 0;
  private size = 0;
  private readonly began = performance.now();
  private readonly onDelta: () => void;

  constructor(onDelta: () => void) {
    this.onDelta = onDelta;
  }

  text(delta: string): void {
    this.add("text", delta);
  }

  thinking(delta: string): void {
    this.add("thinking", delta);
  }

  signature(value: string): void {
    const last = this.blocks.at(-1);
    if (last?.type === "thinking") last["signature"] = value;
    else this.keep({ type: "thinking", thinking: "", signature: value });
  }

  toolUse({ id, name }: { id?: string | undefined; name: string }): ToolUseReply {
    const block: Block = { type: "tool_use", name, input: null, ...(id === undefined ? {} : { id }) };
    this.keep(block);
    let json = "";
    return {
      delta: (piece) => {
        json += this.counted(piece);
      },
      // What the provider wants back with the call stays beside it.
      end: (more?: object) => {
        Object.assign(block, more);
        try {
          const input: unknown = JSON.parse(json.trim() === "" ? "{}" : json);
          block["input"] = input ?? {};
        } catch {
          block["malformed"] = json;
        }
      },
    };
  }

  block(block: Block): void {
    this.counted("");
    this.keep(block);
  }

  ended(end: InferEnd): void {
    this.end = end;
    this.ms = this.sinceBegin();
  }

  /** Blocks of one type. */
  of<Type extends Block["type"]>(type: Type): (Block & { type: Type })[] {
    return this.blocks.filter((block): block is Block & { type: Type } => block.type === type);
  }

  get said(): string {
    return this.of("text")
      .map(({ text }) => String(text))
      .join("");
  }

  private add(type: "text" | "thinking", delta: string): void {
    if (delta === "") return;
    const kept = this.counted(delta);
    const last = this.blocks.at(-1);
    // A signature ends a thought: what follows is the next one.
    if (last?.type === type && last["signature"] === undefined) last[type] = String(last[type]) + kept;
    else this.keep({ type, [type]: kept } as Block);
  }

  private counted(delta: string): string {
    this.deltas++;
    this.firstMs ??= this.sinceBegin();
    this.onDelta();
    const kept = delta.slice(0, Math.max(0, MOST - this.size));
    this.size += kept.length;
    return kept;
  }

  private keep(block: Block): void {
    if (this.blocks.length < BLOCKS) this.blocks.push(block);
  }

  private sinceBegin(): number {
    return performance.now() - this.began;
  }
}
