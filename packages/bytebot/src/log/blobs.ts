import { BytebotError, tenantOf } from "../wire/index.ts";

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
  /** Keeps the array itself. Rejects with `overloaded` where a quota is used up, `unavailable` where the store fails. */
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
  close(): Promise<void>;
}

export interface BlobQuota {
  /** Bytes of one tenant. */
  tenantBytes: number;
  /** Bytes in all. */
  totalBytes: number;
}

/** What a blob costs beside its bytes: a million blobs of one byte are not free. */
const BLOB_BYTES = 512;

const MiB = 1024 * 1024;

interface Kept extends Pick<StoredBlob, "size" | "mimeType"> {
  pieces: readonly Uint8Array[];
}

/** Blobs in this process's memory. */
export class MemoryBlobs implements BlobStore {
  private readonly quota: BlobQuota;
  private readonly cells = new Map<string, Map<string, Kept>>();
  private readonly used = new Map<string, number>();
  private total = 0;

  constructor(quota: Partial<BlobQuota> = {}) {
    this.quota = { tenantBytes: 256 * MiB, totalBytes: 1024 * MiB, ...quota };
  }

  /** Bytes held, unfinished ones too; of one tenant, or of all. */
  bytes(tenant?: string): number {
    return tenant === undefined ? this.total : (this.used.get(tenant) ?? 0);
  }

  create(cell: string): BlobWriter {
    const tenant = tenantOf(cell);
    const pieces: Uint8Array[] = [];
    let size = 0;
    let held = 0;
    const discard = async (): Promise<void> => {
      this.take(tenant, -held);
      held = 0;
      pieces.length = 0;
    };
    return {
      write: async (piece) => {
        this.take(tenant, piece.length);
        held += piece.length;
        size += piece.length;
        pieces.push(piece);
      },
      commit: async (ref, mimeType) => {
        const blobs = this.cells.get(cell) ?? new Map<string, Kept>();
        if (blobs.has(ref)) return discard();
        this.take(tenant, BLOB_BYTES);
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

  async close(): Promise<void> {
    this.cells.clear();
    this.used.clear();
    this.total = 0;
  }

  private take(tenant: string, bytes: number): void {
    const own = this.bytes(tenant) + bytes;
    const { tenantBytes, totalBytes } = this.quota;
    if (bytes > 0 && (own > tenantBytes || this.total + bytes > totalBytes)) {
      const whose = own > tenantBytes ? "this tenant's" : "all tenants'";
      const limit = own > tenantBytes ? tenantBytes : totalBytes;
      throw new BytebotError("overloaded", `${whose} blobs are over their ${limit} bytes: nothing more is kept`);
    }
    this.total += bytes;
    if (own > 0) this.used.set(tenant, own);
    else this.used.delete(tenant);
  }
}

async function* each(pieces: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* pieces;
}
