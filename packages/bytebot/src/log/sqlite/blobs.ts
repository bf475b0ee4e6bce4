import { BytebotError, tenantOf } from "../../wire/index.ts";
import { Quota, type BlobQuota } from "../quota.ts";
import { BLOB_BYTES } from "../blob-bytes.ts";
import type { BlobStore, BlobWriter, StoredBlob } from "../blobs.ts";
import { findBlob, piecesOf } from "./blob-reading.ts";
import type { ReadConnection } from "./connection.ts";
import type { WriterThread } from "./thread.ts";

/** Pieces of one blob on their way to the disk before its sender waits: they share a commit. */
const PIECES_AHEAD = 8;

/** Content by reference in the log's file. */
export class SqliteBlobs implements BlobStore {
  private readonly thread: WriterThread;
  private readonly db: ReadConnection;
  private readonly quota: Quota;
  /** Cells whose wipe has forgotten what they had, with the entry: what was kept since is not to be dropped. */
  private readonly wiped = new Set<string>();
  private uploads = 0;
  private state: "open" | "closed" = "open";

  constructor(thread: WriterThread, db: ReadConnection, quota: Partial<BlobQuota>) {
    this.thread = thread;
    this.db = db;
    const kept = (tenant: string) =>
      db.get<{ bytes: number }>("SELECT blob_bytes AS bytes FROM tenants WHERE name = ?", tenant)?.bytes ?? 0;
    this.quota = new Quota(quota, thread.opened!.blobBytes, kept);
  }

  create(cell: string): BlobWriter {
    const { thread, quota } = this;
    const tenant = tenantOf(cell);
    const upload = ++this.uploads;
    let size = 0;
    let state: "empty" | "written" | "over" = "empty";
    const ahead: Promise<void>[] = [];
    const release = (): void => {
      quota.take(tenant, -size);
      state = "over";
    };
    const discard = async (): Promise<void> => {
      const before = state;
      if (before === "over") return;
      release();
      if (before === "written") await thread.post({ do: "discard", upload });
    };
    return {
      write: async (piece) => {
        if (this.state === "closed") throw closed();
        quota.take(tenant, piece.length);
        size += piece.length;
        state = "written";
        const written = thread.post({ do: "write", cell, upload, bytes: new Uint8Array(piece) });
        // Told by one of the next calls.
        written.catch(() => undefined);
        if (ahead.push(written) > PIECES_AHEAD) await ahead.shift();
      },
      commit: async (ref, mimeType) => {
        if (this.state === "closed") throw closed();
        await Promise.all(ahead);
        if (findBlob(this.db, cell, "content", ref)) return discard();
        quota.take(tenant, BLOB_BYTES);
        const counted = size + BLOB_BYTES;
        try {
          const isNew = await thread.post({ do: "keep", cell, upload, ref, mimeType, size, counted });
          if (isNew) quota.keep(counted);
          release();
        } finally {
          quota.take(tenant, -BLOB_BYTES);
        }
      },
      discard,
    };
  }

  async find(cell: string, ref: string): Promise<StoredBlob | undefined> {
    const { db } = this;
    const row = findBlob(db, cell, "content", ref);
    if (!row) return undefined;
    const read = async function* (): AsyncGenerator<Uint8Array> {
      yield* piecesOf(db, row);
    };
    return { ref, size: row.size, mimeType: row.mimeType, read };
  }

  async drop(cell: string): Promise<void> {
    if (this.state === "closed") throw closed();
    if (!this.wiped.delete(cell)) this.quota.keep(-(await this.thread.post({ do: "forget", cell })));
    while (await this.thread.post({ do: "drop", cell }));
  }

  /** With an entry that wiped the cell its blobs were forgotten: so many bytes. They are dropped next. */
  forgotten(cell: string, bytes: number): void {
    this.wiped.add(cell);
    this.quota.keep(-bytes);
  }

  /** The file is the log's, which closes it. */
  async close(): Promise<void> {
    this.state = "closed";
  }
}

function closed(): BytebotError {
  return new BytebotError("unavailable", "the blobs are closed");
}
