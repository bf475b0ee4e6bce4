/** What was written and may not have arrived is kept for a return, up to so many characters. */
const HELD_CHARS = 512 * 1024;
/** Dropped entries leave the array so many at a time. */
const TRIM = 1024;

export interface Entry {
  line: string;
  cursor: string | undefined;
  /** What an acknowledgement names, where the event has a name. */
  name: string | undefined;
  acked?: true;
}

/**
 * The lines of a stream in order: those that wait, and of those written the newest, which a broken socket may have
 * swallowed. Counted from 1, as both sides count them (rule HTP-7).
 */
export class Held {
  private entries: Entry[] = [];
  /** Index of the oldest entry that is kept; those before it are on their way out. */
  private first = 0;
  /** Index of the first entry that was not written yet. */
  private next = 0;
  /** How many lines came before entries[first]. */
  private dropped = 0;
  private writtenChars = 0;
  /** Those that were written and not acknowledged, by their name. */
  private readonly named = new Map<string, Set<Entry>>();
  /** Characters of the lines that were not written yet. */
  waiting = 0;

  push(entry: Entry): void {
    this.entries.push(entry);
    this.waiting += entry.line.length;
  }

  /** The next line to write; it is kept until it is known to have arrived, or newer ones need the room. */
  take(): Entry | undefined {
    const entry = this.entries[this.next];
    if (!entry) return undefined;
    this.next++;
    this.waiting -= entry.line.length;
    this.writtenChars += entry.line.length;
    if (entry.name !== undefined && !entry.acked) {
      const same = this.named.get(entry.name);
      if (same) same.add(entry);
      else this.named.set(entry.name, new Set([entry]));
    }
    while (this.writtenChars > HELD_CHARS && this.first < this.next - 1) this.drop();
    return entry;
  }

  /** The other side has `count` lines. False where it misses some that are gone, or has more than there were. */
  received(count: number): boolean {
    const arrived = count - this.dropped;
    if (arrived < 0 || arrived > this.next - this.first) return false;
    for (let left = arrived; left > 0; left--) this.drop();
    return true;
  }

  /** The same by the cursor of the last event that arrived; false where no line that is kept has it. */
  receivedCursor(cursor: string): boolean {
    for (let at = this.next - 1; at >= this.first; at--) {
      if (this.entries[at]!.cursor === cursor) return this.received(this.dropped + at - this.first + 1);
    }
    return false;
  }

  /** The other side has what was written under this name. */
  ack(name: string): void {
    for (const entry of this.named.get(name) ?? []) entry.acked = true;
    this.named.delete(name);
  }

  /** From here on what was written and is kept is written again; `unacked`: only what has a name and was not acknowledged. */
  rewind(unacked: boolean): void {
    const written = this.entries.slice(this.first, this.next);
    const again = unacked ? written.filter(({ name, acked }) => name !== undefined && !acked) : written;
    this.dropped += written.length - again.length;
    this.entries = [...again, ...this.entries.slice(this.next)];
    this.first = 0;
    this.next = 0;
    this.writtenChars = 0;
    this.named.clear();
    this.waiting = this.entries.reduce((sum, { line }) => sum + line.length, 0);
  }

  private drop(): void {
    const entry = this.entries[this.first]!;
    this.writtenChars -= entry.line.length;
    const same = entry.name === undefined ? undefined : this.named.get(entry.name);
    if (same?.delete(entry) && same.size === 0) this.named.delete(entry.name!);
    this.first++;
    this.dropped++;
    if (this.first < TRIM) return;
    this.entries.splice(0, this.first);
    this.next -= this.first;
    this.first = 0;
  }
}
