import {
  BytebotError,
  check,
  type Block,
  type BlockType,
  type Event,
  type LineLimits,
  type Usage,
} from "../wire/index.ts";

/** How a round of inference ended; an absent count in `usage` is unknown, not zero. */
export interface InferEnd {
  stop_reason: "end_turn" | "tool_use" | "max_tokens" | "refusal";
  usage?: Usage | undefined;
}

/** Streams one reply: blocks are opened and closed for you, indexes assigned. After a cancel nothing is sent. */
export interface InferReply {
  /** Opens a text block where none is open. */
  text(delta: string): void;
  /** Opens a thinking block where none is open. */
  thinking(delta: string): void;
  /** Of the open thinking block, byte for byte, and its end: a thought after it is a block of its own. */
  signature(value: string): void;
  /**
   * Arguments as JSON text, in pieces; several calls may be open at once. Blank arguments mean `{}`. What is no JSON
   * object becomes `input: null` beside the text in `malformed` (its first 2,000 characters), and is never run.
   */
  toolUse(call: { id?: string | undefined; name: string }): ToolUseReply;
  /** A whole block at once. */
  block(block: Block): void;
}

export interface ToolUseReply {
  delta(json: string): void;
  /** `more`: further fields of the block, which come back with it: what a provider wants to see again with its call. */
  end(more?: Record<string, unknown>): void;
}

/** Where the chunks go. */
export interface ChunkSink {
  readonly limits: LineLimits;
  send(event: object): void;
  /** Without a check: for what is made of plain, defined values. */
  post(event: Event): void;
}

const MALFORMED_SHOWN = 2000;

/** The reply to one `bb_infer_request`, as `infer_chunk`s. */
export class Reply implements InferReply {
  private readonly id: string;
  private readonly sink: ChunkSink;
  private readonly calls = new Set<ToolUseReply>();
  private current: OpenBlock | undefined;
  private next = 0;
  private state: "open" | "stopped" = "open";

  constructor(id: string, sink: ChunkSink) {
    this.id = id;
    this.sink = sink;
  }

  text(delta: string): void {
    if (delta !== "") this.open("text").add(delta);
  }

  thinking(delta: string): void {
    if (delta !== "") this.open("thinking").add(delta);
  }

  signature(value: string): void {
    this.open("thinking").signature = value;
    this.closeCurrent();
  }

  toolUse({ id, name }: { id?: string | undefined; name: string }): ToolUseReply {
    this.closeCurrent();
    const block = this.start("tool_use", name);
    const call: ToolUseReply = {
      delta: (json) => {
        if (this.state === "open" && !this.calls.has(call))
          throw new BytebotError("invalid_params", `arguments of ${name} came after its end()`);
        if (json !== "") block.add(json);
      },
      end: (more = {}) => {
        if (this.calls.delete(call))
          block.stop({ ...more, type: "tool_use", id, name, ...parse(block.finish(), this.sink.limits) });
      },
    };
    this.calls.add(call);
    return call;
  }

  block(block: Block): void {
    this.closeCurrent();
    const content = streamed(block);
    if (!content) return this.chunk({ kind: "block_stop", index: this.next++, block });
    const open = this.start(content.type, content.name);
    if (content.text !== "") open.add(content.text);
    open.finish();
    open.stop(block);
  }

  /** The reply is complete: closes what is open. */
  finish(): void {
    this.closeCurrent();
    for (const call of this.calls) call.end();
  }

  /** Nothing is sent from here on. */
  stop(): void {
    this.state = "stopped";
  }

  private open(type: "text" | "thinking"): OpenBlock {
    if (this.current?.type === type) return this.current;
    this.closeCurrent();
    return (this.current = this.start(type));
  }

  private closeCurrent(): void {
    const block = this.current;
    if (!block) return;
    this.current = undefined;
    const text = block.finish();
    if (block.type === "text") block.stop({ type: "text", text });
    else block.stop({ type: "thinking", thinking: text, signature: block.signature });
  }

  private start(type: BlockType, name?: string): OpenBlock {
    const index = this.next++;
    this.chunk({ kind: "block_start", index, block_type: type, name });
    return new OpenBlock(type, {
      delta: (delta) => {
        if (this.state === "stopped") return;
        const { id: in_reply_to } = this;
        this.sink.post({ event_type: "infer_chunk", in_reply_to, kind: "block_delta", index, block_type: type, delta });
      },
      stop: (block) => this.chunk({ kind: "block_stop", index, block }),
    });
  }

  private chunk(fields: object): void {
    if (this.state === "open") this.sink.send({ event_type: "infer_chunk", in_reply_to: this.id, ...fields });
  }
}

/** One block while it streams. */
class OpenBlock {
  readonly type: BlockType;
  signature: string | undefined;
  private readonly out: { delta(text: string): void; stop(block: object): void };
  private text = "";
  private half = "";

  constructor(type: BlockType, out: { delta(text: string): void; stop(block: object): void }) {
    this.type = type;
    this.out = out;
  }

  /** A delta cut inside a character waits for its other half; a half that stays alone becomes U+FFFD. Each event is well-formed by itself. */
  add(delta: string): void {
    const text = this.half + delta;
    const cut = endsInHalf(text) ? text.length - 1 : text.length;
    this.half = text.slice(cut);
    this.push(text.slice(0, cut).toWellFormed());
  }

  /** The whole text; no delta follows. */
  finish(): string {
    this.push(this.half.toWellFormed());
    this.half = "";
    return this.text;
  }

  stop(block: object): void {
    this.out.stop(block);
  }

  private push(text: string): void {
    if (text === "") return;
    this.text += text;
    this.out.delta(text);
  }
}

function endsInHalf(text: string): boolean {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff;
}

/** What of a whole block goes out as its delta; undefined where it has no text to stream. */
function streamed(block: Block): { type: BlockType; text: string; name?: string } | undefined {
  if (block.type === "text") return { type: "text", text: String(block["text"]) };
  if (block.type === "thinking") return { type: "thinking", text: String(block["thinking"]) };
  if (block.type !== "tool_use") return undefined;
  return { type: "tool_use", text: JSON.stringify(block["input"] ?? {}), name: String(block["name"]) };
}

/** Arguments a model wrote. Nothing else than an object is ever guessed from them. */
function parse(json: string, limits: LineLimits): { input: unknown; malformed?: string } {
  if (json.trim() === "") return { input: {} };
  try {
    const input: unknown = JSON.parse(json);
    if (input === null) return { input: {} };
    // As deep as it will stand in its event: what the wire would refuse must not take the whole block with it.
    check({ block: { input } }, limits);
    if (typeof input === "object" && !Array.isArray(input)) return { input };
  } catch {
    // Reported below, with the text.
  }
  return { input: null, malformed: json.slice(0, MALFORMED_SHOWN).toWellFormed() };
}
