import type { Block, InferReply, InferRequestEvent, ToolUseReply } from "bytebot/sdk";

/** A reply that is kept: the blocks as they end, and each delta as it came. */
export class Collected implements InferReply {
  readonly blocks: Block[] = [];
  readonly deltas: string[] = [];
  /** Called at each delta. */
  onDelta: (delta: string) => void = () => undefined;

  text(delta: string): void {
    this.add("text", delta);
  }

  thinking(delta: string): void {
    this.add("thinking", delta);
  }

  signature(signature: string): void {
    const last = this.blocks.at(-1);
    // Signed, a block is complete; of a thought that is withheld nothing else is known.
    if (last?.type === "thinking" && last["signature"] === undefined) last["signature"] = signature;
    else this.blocks.push({ type: "thinking", thinking: "", signature });
  }

  toolUse({ id, name }: { id?: string | undefined; name: string }): ToolUseReply {
    const block: Block = { type: "tool_use", name, input: "", ...(id === undefined ? {} : { id }) };
    this.blocks.push(block);
    return {
      delta: (json) => {
        block["input"] += json;
        this.seen(json);
      },
      end: (more) => {
        Object.assign(block, more);
        const text = String(block["input"]);
        block["input"] = argumentsIn(text);
        if (block["input"] === null) block["malformed"] = text;
      },
    };
  }

  block(block: Block): void {
    this.blocks.push(block);
  }

  get said(): string {
    return this.blocks.map((block) => (block.type === "text" ? String(block["text"]) : "")).join("");
  }

  private add(type: "text" | "thinking", delta: string): void {
    if (delta === "") return;
    const last = this.blocks.at(-1);
    if (last?.type === type && last["signature"] === undefined) last[type] = String(last[type]) + delta;
    else this.blocks.push({ type, [type]: delta } as Block);
    this.seen(delta);
  }

  private seen(delta: string): void {
    this.deltas.push(delta);
    this.onDelta(delta);
  }
}

/** As the SDK's own reply reads them: blank and `null` are none, what is no object is not guessed at. */
function argumentsIn(text: string): unknown {
  if (text.trim() === "") return {};
  try {
    const input: unknown = JSON.parse(text) ?? {};
    return typeof input === "object" && !Array.isArray(input) ? input : null;
  } catch {
    return null;
  }
}

/** A request with what every request has, and what is given. */
export function request(given: Partial<InferRequestEvent> & Pick<InferRequestEvent, "messages">): InferRequestEvent {
  return {
    event_type: "bb_infer_request",
    id: "i_1",
    loop_id: "l_1",
    scope: "u_1",
    stream: true,
    round: 0,
    attempt: 0,
    ...given,
  };
}

export function said(text: string): InferRequestEvent["messages"][number] {
  return { role: "user", content: [{ type: "text", text }] };
}
