/** What was taken leaves the list so much at a time, at least. */
const TRIM = 1024;

/** First in, first out, at the same cost however long it is: an array's own `shift` moves all that is behind. */
export class Queue<Item> {
  /** Those that wait, from `next` to `end`; what was taken is not kept alive. */
  private items: (Item | undefined)[] = [undefined];
  private next = 0;
  private end = 0;

  get length(): number {
    return this.end - this.next;
  }

  get first(): Item | undefined {
    return this.next < this.end ? this.items[this.next] : undefined;
  }

  get last(): Item | undefined {
    return this.length > 0 ? this.items[this.end - 1] : undefined;
  }

  push(item: Item): void {
    this.items[this.end++] = item;
  }

  shift(): Item | undefined {
    if (this.next === this.end) return undefined;
    const item = this.items[this.next];
    this.items[this.next++] = undefined;
    if (this.next === this.end) this.empty();
    else if (this.next >= TRIM && this.next * 2 >= this.end) {
      this.items.splice(0, this.next);
      this.end -= this.next;
      this.next = 0;
    }
    return item;
  }

  /** Takes all. */
  drain(): Item[] {
    const rest = this.items.slice(this.next, this.end) as Item[];
    this.items = [undefined];
    this.next = this.end = 0;
    return rest;
  }

  /** Most queues hold one at a time: they begin again at the same place. */
  private empty(): void {
    if (this.end > TRIM) this.items = [undefined];
    this.next = this.end = 0;
  }
}
