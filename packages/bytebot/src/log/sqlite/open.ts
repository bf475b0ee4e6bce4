import { resolve } from "node:path";
import type { BlobQuota } from "../quota.ts";
import type { SqliteBlobs } from "./blobs.ts";
import type { Synchronous } from "./jobs.ts";
import type { SqliteLog } from "./log.ts";

export interface SqliteOptions {
  /** Made where there is none; its folder is not. Beside it lie `-wal` and `-shm`, which belong to it, and `-lock`. */
  file: string;
  /** "full" (default): acknowledged means on the disk. "normal": survives a kill of the process, not the loss of power. */
  synchronous?: Synchronous;
  /** What the file may take, in bytes; beyond it appends are refused as on a full disk, until something is trimmed. */
  maxBytes?: number;
  quota?: Partial<BlobQuota>;
}

/**
 * Opens the durable log and the blobs of its cells, both in one SQLite file. Rejects with `conflict` where another
 * process has the file (the message names it), `not_found` where there is no such folder, `unavailable` where it cannot
 * be read or written, is no log, or is one of a later version: it then stays as it is.
 */
export async function openSqliteLog(options: SqliteOptions): Promise<{ log: SqliteLog; blobs: SqliteBlobs }> {
  const { synchronous = "full", maxBytes, quota = {} } = options;
  const file = resolve(options.file);
  // Only who opens one loads SQLite.
  const { openLog } = await import("./opened.ts");
  return openLog({ file, synchronous, maxBytes }, quota);
}
