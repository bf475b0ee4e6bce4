/** Random choices that a seed repeats: mulberry32, quick and good enough to fuzz with. */
export class Random {
  private state: number;

  constructor(seed: number) {
    this.state = seed >>> 0;
  }

  /** A whole number below `limit`. */
  below(limit: number): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), this.state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
  }

  pick<Value>(from: readonly Value[]): Value {
    return from[this.below(from.length)]!;
  }

  /** Up to `most` of what `make` makes. */
  some<Value>(most: number, make: () => Value): Value[] {
    return Array.from({ length: this.below(most + 1) }, make);
  }

  /** The text or bytes in pieces, some of them empty. */
  cut<Whole extends { length: number; slice(from: number, to: number): Whole }>(whole: Whole): Whole[] {
    const at = [0, ...this.some(8, () => this.below(whole.length + 1)).toSorted((a, b) => a - b), whole.length];
    return at.slice(1).map((end, index) => whole.slice(at[index]!, end));
  }
}

/** One try with one seed; throws where something that must hold does not. */
export type Target = (random: Random) => void;
