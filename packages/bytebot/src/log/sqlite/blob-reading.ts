import { crc32 } from "./checksum.ts";
import type { ReadConnection } from "./connection.ts";
import { damaged } from "./errors.ts";

/** A blob that is whole, with the id of its row. */
export interface BlobRow {
  id: number;
  cell: string;
  ref: string;
  size: number;
  mimeType: string;
}

const FIND =
  "SELECT blobs.id AS id, name AS cell, ref, size, mime_type AS mimeType FROM blobs JOIN cells ON cells.id = blobs.cell WHERE blobs.cell = (SELECT id FROM cells WHERE name = ?) AND use = ? AND ref = ?";
const PIECE = "SELECT bytes, checksum FROM pieces WHERE blob = ? AND number = ?";

/** Of this cell, and of no other; `use` tells what belongs to entries from what components put. */
export function findBlob(db: ReadConnection, cell: string, use: "entry" | "content", ref: string): BlobRow | undefined {
  return db.get<BlobRow>(FIND, cell, use, ref);
}

/** Its bytes, piece by piece. Throws `internal` where one is damaged or missing. */
export function* piecesOf(db: ReadConnection, { id, cell, ref, size }: BlobRow): Generator<Uint8Array> {
  for (let number = 0, at = 0; at < size; number++) {
    const piece = db.get<{ bytes: Uint8Array; checksum: number }>(PIECE, id, number);
    if (!piece || piece.bytes.length === 0 || crc32(piece.bytes) !== piece.checksum)
      throw damaged(`the piece ${number} of the blob ${ref} of cell "${cell}"`, db.file);
    at += piece.bytes.length;
    if (at > size) throw damaged(`the size of the blob ${ref} of cell "${cell}"`, db.file);
    yield piece.bytes;
  }
}

const NEXT =
  "SELECT blobs.id AS id, name AS cell, ref, size, mime_type AS mimeType FROM blobs JOIN cells ON cells.id = blobs.cell WHERE blobs.id > ? AND use = 'content' AND ref IS NOT NULL ORDER BY blobs.id LIMIT 1";

/** All that components put. */
export function* contentOf(db: ReadConnection): Generator<BlobRow> {
  for (let blob = db.get<BlobRow>(NEXT, 0); blob; blob = db.get<BlobRow>(NEXT, blob.id)) yield blob;
}
