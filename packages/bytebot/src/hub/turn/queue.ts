/** What was taken leaves the list so much at a time, at least. */
const TRIM = 1024;

/** First in, first out, at the same cost however long it is: an array's own `shift` moves all that is behind. */
export class Queue<Item> {
  private items: Item[] = [];
  private next = 0;

  get length(): number {
    return this.items.length - this.next;
  }

  get first(): Item | undefined {
    return this.items[this.next];
  }

  get last(): Item | undefined {
    return this.length > 0 ? this.items.at(-1) : undefined;
  }

  push(item: Item): void {
    this.items.push(item);
  }

  shift(): Item | undefined {
    const item = this.items[this.next];
    if (this.next < this.items.length) this.next++;
    if (this.next >= TRIM && this.next * 2 >= this.items.length) {
      this.items.splice(0, this.next);
      this.next = 0;
    }
    return item;
  }

  /** Takes all. */
  drain(): Item[] {
    const rest = this.items.slice(this.next);
    this.items = [];
    this.next = 0;
    return rest;
  }
}
