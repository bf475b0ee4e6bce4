import type { BlobQuota } from "../quota.ts";
import { SqliteBlobs } from "./blobs.ts";
import { ReadConnection } from "./connection.ts";
import type { WriterOptions } from "./jobs.ts";
import { SqliteLog } from "./log.ts";
import { WriterThread } from "./thread.ts";

/** See `openSqliteLog`. */
export async function openLog(
  options: WriterOptions,
  quota: Partial<BlobQuota>,
): Promise<{ log: SqliteLog; blobs: SqliteBlobs }> {
  const thread = new WriterThread(options);
  await thread.start();
  try {
    const db = new ReadConnection(options.file);
    const blobs = new SqliteBlobs(thread, db, quota);
    return { log: new SqliteLog(thread, db, (cell, bytes) => blobs.forgotten(cell, bytes)), blobs };
  } catch (error) {
    await thread.close();
    throw error;
  }
}
