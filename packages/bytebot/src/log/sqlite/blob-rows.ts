import { createHash } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import { BytebotError } from "../../wire/errors.ts";
import type { BlobBlock } from "../../wire/index.ts";
import { PART_BYTES } from "../../wire/limits.ts";
import { tenantOf } from "../../wire/scope.ts";
import { BLOB_BYTES } from "../blob-bytes.ts";
import { crc32 } from "./checksum.ts";
import type { Job } from "./jobs.ts";

/** Dropped in one transaction: some megabytes. */
const PIECES_AT_ONCE = 32;

const UNTYPED = "application/octet-stream";

/** Uploads that are under way, by the key that their sender gave: the blob's row, and how many pieces of it are there. */
export type UploadRows = Map<number, { readonly id: number; readonly pieces: number }>;

/** Writes blobs and their pieces, inside the writer's transaction. */
export class BlobRows {
  private readonly sql;
  private readonly uploads: UploadRows;

  /** `uploads` outlives the connection. */
  constructor(db: DatabaseSync, uploads: UploadRows) {
    this.uploads = uploads;
    this.sql = {
      find: db.prepare("SELECT id FROM blobs WHERE cell = ? AND use = ? AND ref = ?"),
      add: db.prepare("INSERT INTO blobs (cell, use, ref, mime_type, size, parts, at) VALUES (?, ?, ?, ?, ?, 0, ?)"),
      piece: db.prepare("INSERT INTO pieces (blob, number, bytes, checksum) VALUES (?, ?, ?, ?)"),
      whole: db.prepare("UPDATE blobs SET ref = ?, mime_type = ?, size = ?, at = ? WHERE id = ?"),
      count: db.prepare(
        "INSERT INTO tenants (name, blob_bytes) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET blob_bytes = blob_bytes + ?2",
      ),
      use: db.prepare(
        "UPDATE blobs SET parts = parts + ? WHERE cell = ? AND use = 'entry' AND ref = ? RETURNING id, parts",
      ),
      dropPieces: db.prepare("DELETE FROM pieces WHERE blob = ?"),
      drop: db.prepare("DELETE FROM blobs WHERE id = ?"),
      forget: db.prepare(
        "UPDATE blobs SET ref = NULL WHERE cell = ? AND use = 'content' AND ref IS NOT NULL RETURNING size",
      ),
      forgotten: db.prepare("SELECT id FROM blobs WHERE cell = ? AND ref IS NULL"),
      dropPart: db.prepare(
        "DELETE FROM pieces WHERE blob = ?1 AND number IN (SELECT number FROM pieces WHERE blob = ?1 LIMIT ?2)",
      ),
      loose: db.prepare("SELECT id FROM blobs WHERE ref IS NULL OR (use = 'entry' AND parts = 0)"),
    };
  }

  /** A large event's bytes: kept before its entry, and with it. */
  put(cell: number, bytes: Uint8Array): BlobBlock {
    const ref = `sha256-${createHash("sha256").update(bytes).digest("hex")}`;
    if (!this.sql.find.get(cell, "entry", ref)) {
      const id = Number(this.sql.add.run(cell, "entry", ref, UNTYPED, bytes.length, Date.now()).lastInsertRowid);
      for (let number = 0, at = 0; at < bytes.length; number++, at += PART_BYTES)
        this.piece(id, number, bytes.subarray(at, at + PART_BYTES));
    }
    return { type: "blob", ref, mime_type: UNTYPED, size: bytes.length };
  }

  has(cell: number, refs: readonly string[]): boolean {
    return refs.every((ref) => this.sql.find.get(cell, "entry", ref));
  }

  /** One entry more, or fewer, has them; those that none has are dropped. */
  use(cell: number, refs: readonly string[], by: 1 | -1): void {
    for (const ref of refs) {
      const blob = this.sql.use.get(by, cell, ref) as { id: number; parts: number } | undefined;
      if (blob?.parts === 0) this.drop(blob.id);
    }
  }

  /** What components put in the cell is not found any more, and goes by `dropSome`; the bytes that were counted for it. */
  forgetContent(cell: number, tenant: string): number {
    let counted = 0;
    for (const { size } of this.sql.forget.all(cell) as { size: number }[]) counted += size + BLOB_BYTES;
    if (counted > 0) this.sql.count.run(tenant, -counted);
    return counted;
  }

  /** Some of the pieces of what was forgotten in the cell: others write between two of these. False: nothing is left. */
  dropSome(cell: number): boolean {
    const under = new Set([...this.uploads.values()].map(({ id }) => id));
    const forgotten = (this.sql.forgotten.all(cell) as { id: number }[]).find(({ id }) => !under.has(id));
    if (!forgotten) return false;
    if (this.sql.dropPart.run(forgotten.id, PIECES_AT_ONCE).changes === 0) this.sql.drop.run(forgotten.id);
    return true;
  }

  write(cell: () => number, { upload: key, bytes }: Extract<Job, { do: "write" }>): undefined {
    const known = this.uploads.get(key);
    const id = known?.id ?? Number(this.sql.add.run(cell(), "content", null, "", 0, Date.now()).lastInsertRowid);
    const pieces = known?.pieces ?? 0;
    this.piece(id, pieces, bytes);
    this.uploads.set(key, { id, pieces: pieces + 1 });
  }

  /** False where the cell has these bytes already. */
  keep(cell: number, { cell: name, upload: key, ref, mimeType, size, counted }: Extract<Job, { do: "keep" }>): boolean {
    if (this.sql.find.get(cell, "content", ref)) {
      this.discard(key);
      return false;
    }
    const now = Date.now();
    const upload = this.uploads.get(key);
    // Of no bytes at all there was no piece.
    if (upload) this.sql.whole.run(ref, mimeType, size, now, upload.id);
    else if (size === 0) this.sql.add.run(cell, "content", ref, mimeType, 0, now);
    else throw new BytebotError("unavailable", "a part of this blob was lost: put it again", { retryable: true });
    this.uploads.delete(key);
    this.sql.count.run(tenantOf(name), counted);
    return true;
  }

  discard(key: number): undefined {
    const upload = this.uploads.get(key);
    this.uploads.delete(key);
    if (upload) this.drop(upload.id);
  }

  /** What an owner left behind that was cut off: blobs that were not finished or deleted, or whose entry never came. True: there was something. */
  sweep(): boolean {
    const loose = this.sql.loose.all() as { id: number }[];
    for (const { id } of loose) this.drop(id);
    return loose.length > 0;
  }

  private piece(blob: number, number: number, bytes: Uint8Array): void {
    this.sql.piece.run(blob, number, bytes, crc32(bytes));
  }

  private drop(id: number): void {
    this.sql.dropPieces.run(id);
    this.sql.drop.run(id);
  }
}
