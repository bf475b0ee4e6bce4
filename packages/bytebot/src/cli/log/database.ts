import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { openSqliteLog, withLargeEvents, type EventLog } from "../../log/index.ts";
import type { SqliteBlobs, SqliteLog } from "../../log/index.ts";
import { BytebotError } from "../../wire/index.ts";

/** What `openSqliteLog` makes where nothing else is said. */
export const DEFAULT_FILE = "bytebot.db";

/** Throws `not_found`. */
export function existing(file = DEFAULT_FILE): string {
  const path = resolve(file);
  if (existsSync(path)) return path;
  throw new BytebotError("not_found", `there is no log ${path}: name one with --db`);
}

/** A log to read, with its large events whole; whoever owns it goes on. */
export async function reading<T>(file: string | undefined, use: (log: EventLog) => Promise<T>): Promise<T> {
  const { SqliteReader } = await import("../../log/sqlite/reader.ts");
  const log = withLargeEvents(new SqliteReader(existing(file)));
  try {
    return await use(log);
  } finally {
    await log.close();
  }
}

/** A log to write to, and this process its owner. */
export async function owning<T>(
  file: string,
  use: (opened: { log: SqliteLog; blobs: SqliteBlobs }) => Promise<T>,
): Promise<T> {
  const opened = await openSqliteLog({ file, quota: { tenantBytes: Infinity, totalBytes: Infinity } });
  try {
    return await use(opened);
  } finally {
    await opened.log.close();
  }
}
