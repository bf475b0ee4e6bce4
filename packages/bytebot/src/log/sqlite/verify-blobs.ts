import { createHash } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import { crc32 } from "./checksum.ts";
import type { Problem } from "./verify.ts";
import { refsOf, type CellToCheck } from "./verify-entries.ts";

interface BlobRow {
  id: number;
  use: string;
  ref: string;
  size: number;
  parts: number;
}

/** One cell's blobs: their bytes are those of their names, and each is part of as many entries as it says. */
export function* blobProblems(db: DatabaseSync, cell: CellToCheck, seen: { blobs: number }): Generator<Problem> {
  const parts = new Map<string, number>();
  const refs = db.prepare("SELECT refs FROM entries WHERE cell = ? AND refs IS NOT NULL");
  for (const row of refs.iterate(cell.id) as Iterable<{ refs: string }>)
    for (const ref of refsOf(row)) parts.set(ref, (parts.get(ref) ?? 0) + 1);
  const blobs = db.prepare("SELECT id, use, ref, size, parts FROM blobs WHERE cell = ? AND ref IS NOT NULL");
  for (const blob of blobs.iterate(cell.id) as Iterable<unknown> as Iterable<BlobRow>) {
    seen.blobs++;
    const where = `cell "${cell.name}", blob ${blob.ref}`;
    yield* byteProblems(db, where, blob);
    const used = blob.use === "entry" ? (parts.get(blob.ref) ?? 0) : 0;
    if (used !== blob.parts) yield { where, what: `it is part of ${used} entries and says ${blob.parts}` };
  }
}

function* byteProblems(db: DatabaseSync, where: string, { id, ref, size }: BlobRow): Generator<Problem> {
  const hash = createHash("sha256");
  let bytes = 0;
  let number = 0;
  const pieces = db.prepare("SELECT number, bytes, checksum FROM pieces WHERE blob = ? ORDER BY number");
  for (const row of pieces.iterate(id)) {
    const piece = row["bytes"] as Uint8Array;
    if (row["number"] !== number) yield { where, what: `its piece ${number} is missing` };
    number = Number(row["number"]) + 1;
    if (crc32(piece) !== row["checksum"]) yield { where, what: `its piece ${number - 1} is damaged` };
    hash.update(piece);
    bytes += piece.length;
  }
  if (bytes !== size) yield { where, what: `it has ${bytes} bytes and says ${size}` };
  const found = `sha256-${hash.digest("hex")}`;
  if (found !== ref) yield { where, what: `its bytes are ${found}` };
}
