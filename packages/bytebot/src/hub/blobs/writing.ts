import { createHash } from "node:crypto";
import { setImmediate as turnOfTheLoop } from "node:timers/promises";
import type { BlobStore, BlobWriter } from "../../log/index.ts";
import { BytebotError, PART_BYTES, type BlobBlock } from "../../wire/index.ts";

const FIRST_BYTES = 4096;
/** After so many bytes others have their turn. */
const TURN_BYTES = 1024 * 1024;

/** What the sender says of its bytes beforehand; a lie refuses them. */
export interface Promised {
  ref?: string | undefined;
  size?: number | undefined;
}

/**
 * Bytes on their way into the store: counted, hashed, and joined to pieces, so that a million tiny parts cost no more
 * than what is in them.
 */
export class Writing {
  size = 0;
  private readonly hash = createHash("sha256");
  private readonly writer: BlobWriter;
  private readonly limit: number;
  private piece = Buffer.allocUnsafeSlow(FIRST_BYTES);
  private filled = 0;
  private writes: Promise<void> = Promise.resolve();
  private failure: BytebotError | undefined;

  constructor(store: BlobStore, cell: string, limit: number) {
    this.writer = store.create(cell);
    this.limit = limit;
  }

  /** Throws `too_large`, by size and limit. */
  mustFit(size: number): void {
    if (size <= this.limit) return;
    throw new BytebotError("too_large", `a blob of ${size} bytes or more; the limit is ${this.limit}`);
  }

  /** Throws `too_large`, or what the store failed with before. */
  add(bytes: Uint8Array): void {
    if (this.failure) throw this.failure;
    this.mustFit(this.size + bytes.length);
    this.size += bytes.length;
    this.hash.update(bytes);
    for (let at = 0; at < bytes.length;) {
      const part = bytes.subarray(at, at + PART_BYTES - this.filled);
      this.grow(this.filled + part.length);
      this.piece.set(part, this.filled);
      this.filled += part.length;
      at += part.length;
      if (this.filled === PART_BYTES) this.flush();
    }
  }

  /** Resolves when the store has what was added. */
  async written(): Promise<void> {
    await this.writes;
    if (this.failure) throw this.failure;
  }

  /** Adds all of a source, at the store's pace; others have their turn between. */
  async addAll(source: Iterable<Uint8Array> | AsyncIterable<Uint8Array>, signal?: AbortSignal): Promise<void> {
    let turn = TURN_BYTES;
    for await (const bytes of source) {
      signal?.throwIfAborted();
      for (let at = 0; at === 0 || at < bytes.length; at += PART_BYTES) {
        this.add(bytes.subarray(at, at + PART_BYTES));
        await this.written();
        if ((turn -= PART_BYTES) > 0) continue;
        turn = TURN_BYTES;
        await turnOfTheLoop();
      }
    }
  }

  /** The blob, found from here on. Rejects with `invalid_params` where it is not what was promised. */
  async finish(mimeType: string, { ref: wanted, size: said }: Promised = {}): Promise<BlobBlock> {
    const ref = `sha256-${this.hash.digest("hex")}`;
    if (said !== undefined && said !== this.size) {
      throw new BytebotError("invalid_params", `the size was said to be ${said}, and ${this.size} bytes came`);
    }
    if (wanted !== undefined && wanted !== ref) {
      throw new BytebotError("invalid_params", `these bytes are ${ref}, not ${wanted}: they changed on their way`);
    }
    this.flush();
    await this.written();
    await this.writer.commit(ref, mimeType);
    return { type: "blob", ref, mime_type: mimeType, size: this.size };
  }

  /** Nothing of it stays. Never rejects: what a broken store still holds is its own to clear. */
  async discard(): Promise<void> {
    this.failure ??= new BytebotError("cancelled", "the upload was given up");
    await this.writes;
    await this.writer.discard().catch(() => undefined);
  }

  private flush(): void {
    if (this.filled === 0) return;
    // A copy of just its length: what is kept for long holds no more memory than it counts.
    const piece = this.filled === PART_BYTES ? this.piece : new Uint8Array(this.piece.subarray(0, this.filled));
    this.piece = Buffer.allocUnsafeSlow(FIRST_BYTES);
    this.filled = 0;
    this.writes = this.writes.then(async () => {
      if (this.failure) return;
      await this.writer.write(piece).catch((error: unknown) => {
        this.failure = BytebotError.from(error);
      });
    });
  }

  private grow(bytes: number): void {
    if (bytes <= this.piece.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.min(PART_BYTES, Math.max(bytes, this.piece.length * 2)));
    this.piece.copy(larger, 0, 0, this.filled);
    this.piece = larger;
  }
}
