/** A random source that a seed decides: the same seed, the same numbers, on any machine (splitmix32). */
export class Random {
  private state: number;

  constructor(seed: number) {
    this.state = (seed ^ 0x9e3779b9) >>> 0;
    for (let warm = 0; warm < 4; warm++) this.next();
  }

  /** 0 to 2^32 - 1. */
  next(): number {
    this.state = (this.state + 0x9e3779b9) >>> 0;
    let mixed = this.state;
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return (mixed ^ (mixed >>> 15)) >>> 0;
  }

  /** 0 to n - 1. */
  below(n: number): number {
    return Math.floor((this.next() / 2 ** 32) * n);
  }

  between(low: number, high: number): number {
    return low + this.below(high - low + 1);
  }

  chance(probability: number): boolean {
    return this.next() / 2 ** 32 < probability;
  }

  pick<Value>(values: readonly Value[]): Value {
    return values[this.below(values.length)]!;
  }

  /** One of these, each as often as its weight says. */
  weighted<Value>(choices: readonly (readonly [weight: number, value: Value])[]): Value {
    let at = this.below(choices.reduce((sum, [weight]) => sum + weight, 0));
    for (const [weight, value] of choices) {
      at -= weight;
      if (at < 0) return value;
    }
    throw new Error("no choice");
  }
}
