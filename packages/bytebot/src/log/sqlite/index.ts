export { openSqliteLog, type SqliteOptions } from "./open.ts";
export type { SqliteBlobs } from "./blobs.ts";
export type { SqliteLog } from "./log.ts";
