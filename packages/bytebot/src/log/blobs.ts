import { tenantOf } from "../wire/index.ts";
import { BLOB_BYTES } from "./blob-bytes.ts";
import { Quota, type BlobQuota } from "./quota.ts";

/** A blob that is there. `size` in bytes. */
export interface StoredBlob {
  ref: string;
  size: number;
  mimeType: string;
  /** Its bytes, in order and in pieces; each is the store's own, to be read only. */
  read(): AsyncIterable<Uint8Array>;
}

/** A blob that is being written: nothing of it is found before `commit`; what was written counts from the start. */
export interface BlobWriter {
  /**
   * Keeps the array itself. Rejects with `overloaded` where a quota is used up, `unavailable` where the store fails; a
   * store may still be writing when it resolves, and tells a failure by a later call.
   */
  write(piece: Uint8Array): Promise<void>;
  /** The bytes are these: from here on they are found. The same blob again changes nothing. */
  commit(ref: string, mimeType: string): Promise<void>;
  /** Forgets what was written; nothing after a commit. */
  discard(): Promise<void>;
}

/**
 * Content by reference, for every engine: the blobs of a cell live as long as its log. What belongs to one cell is not
 * found in another, whoever knows its hash (rule BLB-6).
 */
export interface BlobStore {
  create(cell: string): BlobWriter;
  find(cell: string, ref: string): Promise<StoredBlob | undefined>;
  /**
   * Forgets all that was kept of the cell before its log was wiped: called once that is committed. Nothing of it is left
   * when it resolves.
   */
  drop(cell: string): Promise<void>;
  close(): Promise<void>;
}

interface Kept extends Pick<StoredBlob, "size" | "mimeType"> {
  pieces: readonly Uint8Array[];
}

/** Blobs in this process's memory. */
export class MemoryBlobs implements BlobStore {
  private readonly limits: Partial<BlobQuota>;
  private quota: Quota;
  private readonly cells = new Map<string, Map<string, Kept>>();

  constructor(quota: Partial<BlobQuota> = {}) {
    this.limits = quota;
    this.quota = new Quota(quota);
  }

  /** Bytes held, unfinished ones too; of one tenant, or of all. */
  bytes(tenant?: string): number {
    return this.quota.bytes(tenant);
  }

  create(cell: string): BlobWriter {
    const tenant = tenantOf(cell);
    const pieces: Uint8Array[] = [];
    let size = 0;
    let held = 0;
    const discard = async (): Promise<void> => {
      this.quota.take(tenant, -held);
      held = 0;
      pieces.length = 0;
    };
    return {
      write: async (piece) => {
        this.quota.take(tenant, piece.length);
        held += piece.length;
        size += piece.length;
        pieces.push(piece);
      },
      commit: async (ref, mimeType) => {
        const blobs = this.cells.get(cell) ?? new Map<string, Kept>();
        if (blobs.has(ref)) return discard();
        this.quota.take(tenant, BLOB_BYTES);
        held = 0;
        this.cells.set(cell, blobs.set(ref, { size, mimeType, pieces: [...pieces] }));
      },
      discard,
    };
  }

  async find(cell: string, ref: string): Promise<StoredBlob | undefined> {
    const kept = this.cells.get(cell)?.get(ref);
    return kept && { ref, size: kept.size, mimeType: kept.mimeType, read: () => each(kept.pieces) };
  }

  async drop(cell: string): Promise<void> {
    for (const { size } of this.cells.get(cell)?.values() ?? []) this.quota.take(tenantOf(cell), -(size + BLOB_BYTES));
    this.cells.delete(cell);
  }

  async close(): Promise<void> {
    this.cells.clear();
    this.quota = new Quota(this.limits);
  }
}

async function* each(pieces: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* pieces;
}
