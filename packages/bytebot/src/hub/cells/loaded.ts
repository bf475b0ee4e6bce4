import type { Conversation } from "../state.ts";

interface InCell {
  conversations: Conversation[];
  busy: number;
}

/**
 * The cells whose conversations are in memory. Those in which nothing goes on stay for a while, the newest; the others
 * leave it, and are read from the log when they are addressed again (rule REC-7).
 */
export class Loaded {
  private readonly cells = new Map<string, InCell>();
  /** The longest idle first. */
  private readonly idle = new Set<string>();

  of(cell: string): readonly Conversation[] {
    return this.cells.get(cell)?.conversations ?? [];
  }

  isBusy(cell: string): boolean {
    return (this.cells.get(cell)?.busy ?? 0) > 0;
  }

  add(conversation: Conversation): void {
    const known = this.cells.get(conversation.cell);
    if (known) known.conversations.push(conversation);
    else this.cells.set(conversation.cell, { conversations: [conversation], busy: 0 });
  }

  /** True: it was the cell's last. */
  remove(conversation: Conversation): boolean {
    const known = this.cells.get(conversation.cell);
    if (!known) return false;
    known.conversations = known.conversations.filter((other) => other !== conversation);
    if (known.conversations.length > 0) return false;
    this.cells.delete(conversation.cell);
    this.idle.delete(conversation.cell);
    return true;
  }

  /** One of its conversations begins something (1), or has ended all (-1). */
  work(cell: string, change: 1 | -1): void {
    const known = this.cells.get(cell);
    if (known) known.busy += change;
    if (change === 1) this.idle.delete(cell);
  }

  /** It was used just now, and nothing goes on in it. */
  rest(cell: string): void {
    if (!this.cells.has(cell) || this.isBusy(cell)) return;
    this.idle.delete(cell);
    this.idle.add(cell);
  }

  /** The cell to unload, where more than `most` are idle. It counts as unloaded from here on, until it rests again. */
  excess(most: number): string | undefined {
    if (this.idle.size <= most) return undefined;
    const [oldest] = this.idle;
    this.idle.delete(oldest!);
    return oldest;
  }

  get size(): number {
    return this.cells.size;
  }
}
