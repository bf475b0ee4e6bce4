/** What one connection sends, in its order: what has to wait, as its bytes are being kept, holds up what is behind it. */
export class Inbox {
  private waiting: (() => Promise<void> | undefined)[] = [];
  private busy = false;

  /** How many wait. */
  get length(): number {
    return this.waiting.length;
  }

  /** Runs `work` now, or after what came before. It does not throw, nor does its promise reject. */
  add(work: () => Promise<void> | undefined): void {
    if (this.busy) this.waiting.push(work);
    else this.run(work);
  }

  private run(work: () => Promise<void> | undefined): void {
    const running = work();
    if (!running) return;
    this.busy = true;
    void running.then(() => this.next());
  }

  private next(): void {
    this.busy = false;
    // A list that is taken whole: removing from the front of a long one is slow.
    const waiting = this.waiting;
    this.waiting = [];
    for (const work of waiting) this.add(work);
  }
}
