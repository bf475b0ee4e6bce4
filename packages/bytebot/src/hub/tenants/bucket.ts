/** Holds `size` tokens, and gets `perSecond` back each second. */
export class Bucket {
  private readonly size: number;
  private readonly perSecond: number;
  private left: number;
  private at = -Infinity;

  constructor(size: number, perSecond: number) {
    this.size = size;
    this.perSecond = perSecond;
    this.left = size;
  }

  /** Takes one token at time `now`; answers 0, or the milliseconds until there is one. */
  take(now: number): number {
    const gained = now > this.at ? ((now - this.at) / 1000) * this.perSecond : 0;
    this.left = Math.min(this.size, this.left + gained);
    this.at = now;
    if (this.left < 1) return Math.ceil(((1 - this.left) * 1000) / this.perSecond);
    this.left--;
    return 0;
  }
}

/** A bucket for each key that fills in a second; who was silent for longer has a full one, and none is kept. */
export class Buckets {
  private readonly perSecond: number;
  private newer = new Map<string, Bucket>();
  private older = new Map<string, Bucket>();
  private since = -Infinity;

  constructor(perSecond: number) {
    this.perSecond = perSecond;
  }

  take(key: string, now: number): number {
    // One that was not used since before the last turn has filled up: it is dropped with its generation.
    if (now - this.since >= 1000) {
      this.older = now - this.since >= 2000 ? new Map() : this.newer;
      this.newer = new Map();
      this.since = now;
    }
    const bucket = this.newer.get(key) ?? this.older.get(key) ?? new Bucket(this.perSecond, this.perSecond);
    this.newer.set(key, bucket);
    return bucket.take(now);
  }

  get size(): number {
    return this.newer.size + this.older.size;
  }
}
