/** Most of these maps stay empty, and a Map is not small: where nothing was ever set, all share this one. */
const EMPTY = new Map<never, never>();

/** A map that forgets: it keeps the newest `size` entries at least, and twice as many at most. */
export class Recent<Key, Value> {
  private readonly kept: number;
  private newer: Map<Key, Value> = EMPTY;
  private older: Map<Key, Value> = EMPTY;

  constructor(size: number) {
    this.kept = size;
  }

  get(key: Key): Value | undefined {
    return this.newer.get(key) ?? this.older.get(key);
  }

  set(key: Key, value: Value): void {
    if (this.newer === EMPTY) this.newer = new Map();
    // A generation is dropped whole: deleting the oldest one by one makes a Map slow.
    if (this.newer.size >= this.kept && !this.newer.has(key)) {
      this.older = this.newer;
      this.newer = new Map();
    }
    this.newer.set(key, value);
  }

  /** Forgets what does not pass. */
  keep(passes: (value: Value) => boolean): void {
    for (const map of [this.newer, this.older]) for (const [key, value] of map) if (!passes(value)) map.delete(key);
  }

  /** The oldest first. */
  *entries(): Iterable<[Key, Value]> {
    for (const entry of this.older) if (!this.newer.has(entry[0])) yield entry;
    yield* this.newer;
  }

  get size(): number {
    return this.newer.size + this.older.size;
  }

  clear(): void {
    this.newer.clear();
    this.older.clear();
  }

  delete(key: Key): void {
    this.newer.delete(key);
    this.older.delete(key);
  }
}
