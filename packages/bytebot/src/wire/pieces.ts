/** Joined so many at a time. */
const MANY = 1024;

/**
 * Text that comes in pieces, often of one character: kept as what is in it. Added up with `+=` it would stay a chain of
 * its pieces in memory, thirty bytes for each, until somebody reads it, and reading a chain of millions takes seconds.
 */
export class Pieces {
  private whole = "";
  private newest: string[] = [];

  add(piece: string): void {
    if (this.newest.push(piece) === MANY) this.join();
  }

  get text(): string {
    if (this.newest.length > 0) this.join();
    return this.whole;
  }

  private join(): void {
    this.whole += this.newest.join("");
    this.newest = [];
  }
}
