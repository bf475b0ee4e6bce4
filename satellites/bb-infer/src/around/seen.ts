import type { Block, InferReply, ToolUseReply } from "bytebot/sdk";

/** A reply, and how much of it has left. */
export class Seen implements InferReply {
  begun = false;
  /** Characters of texts, thoughts and arguments. */
  characters = 0;
  private readonly reply: InferReply;

  constructor(reply: InferReply) {
    this.reply = reply;
  }

  text(delta: string): void {
    this.count(delta);
    this.reply.text(delta);
  }

  thinking(delta: string): void {
    this.count(delta);
    this.reply.thinking(delta);
  }

  signature(value: string): void {
    this.begun = true;
    this.reply.signature(value);
  }

  toolUse(call: Parameters<InferReply["toolUse"]>[0]): ToolUseReply {
    this.count(call.name);
    const use = this.reply.toolUse(call);
    return {
      delta: (json) => {
        this.count(json);
        use.delta(json);
      },
      end: (more) => use.end(more),
    };
  }

  block(block: Block): void {
    this.begun = true;
    this.reply.block(block);
  }

  private count(text: string): void {
    this.begun = true;
    this.characters += text.length;
  }
}
