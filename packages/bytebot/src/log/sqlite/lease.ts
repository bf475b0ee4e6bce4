import { existsSync, openSync, closeSync, statSync } from "node:fs";
import { hostname } from "node:os";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { BytebotError } from "../../wire/errors.ts";
import { sqliteCode } from "./errors.ts";
import { pragma } from "./schema.ts";

export interface Owner {
  generation: number;
  pid: number;
  host: string;
  since: number;
  /** As its connection has it: 2 is FULL, 1 NORMAL. */
  synchronous: number;
}

/**
 * A file has one owner. Who it is decides a lock on the file beside it, which the system releases when the process
 * dies; the lease in the file itself catches an owner that has lost the lock and does not know it.
 * Nothing else may open the lock's file in the process: closing it would release the lock (fcntl).
 */
export function lock(file: string): DatabaseSync {
  const path = `${file}-lock`;
  createPrivate(path, file);
  const held = new DatabaseSync(path, { timeout: 0 });
  try {
    // Never committed: nothing is written to it.
    held.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
    return held;
  } catch (error) {
    held.close();
    if (sqliteCode(error) === 5) throw inUse(file);
    throw error;
  }
}

/** For the user's eyes alone, and before SQLite has it open. Throws `not_found` where there is no such folder. */
export function createPrivate(path: string, file: string): void {
  try {
    statSync(dirname(path));
    if (existsSync(path)) return;
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    // Somebody else was faster.
    if (code === "EEXIST") return;
    if (code === "ENOENT")
      throw new BytebotError(
        "not_found",
        `the log ${file}: there is no folder ${dirname(path)}: make it, or name another`,
      );
    const options = { retryable: true, cause: error };
    throw new BytebotError("unavailable", `the log ${file} cannot be opened or made: ${message}`, options);
  }
}

/** The next owner. Inside a transaction. */
export function take(db: DatabaseSync): number {
  db.prepare("UPDATE lease SET generation = generation + 1, pid = ?, host = ?, since = ?, synchronous = ?").run(
    process.pid,
    hostname(),
    Date.now(),
    pragma(db, "synchronous"),
  );
  return ownerIn(db).generation;
}

export function ownerIn(db: DatabaseSync): Owner {
  return db.prepare("SELECT generation, pid, host, since, synchronous FROM lease").get() as unknown as Owner;
}

/** The file that a path names: another one has another. */
export function identityOf(file: string): string | undefined {
  const found = statSync(file, { bigint: true, throwIfNoEntry: false });
  return found && `${found.dev}:${found.ino}`;
}

export function lost(file: string, { pid, host, since, generation }: Owner, own: number): BytebotError {
  return new BytebotError(
    "unavailable",
    `the log ${file} has another owner: process ${pid} on ${host} took it at ${dated(since)} (generation ${generation}, this one's is ${own}). Nothing more is written here: end this process`,
  );
}

export function replaced(file: string): BytebotError {
  return new BytebotError(
    "unavailable",
    `the log ${file} is no longer the file that was opened: it was moved, removed or replaced. Nothing more is written: start again`,
  );
}

function inUse(file: string): BytebotError {
  const who = describeOwner(file);
  return new BytebotError(
    "conflict",
    `the log ${file} is in use${who}: a log has one Hub. End that one, or give this one a file of its own`,
  );
}

function describeOwner(file: string): string {
  if (!existsSync(file)) return "";
  try {
    const db = new DatabaseSync(file, { readOnly: true });
    try {
      const { pid, host, since } = ownerIn(db);
      return ` by process ${pid} on ${host} since ${dated(since)}`;
    } finally {
      db.close();
    }
  } catch {
    // It is only beginning, or cannot be read: that it is locked is what counts.
    return "";
  }
}

function dated(at: number): string {
  return new Date(at).toISOString();
}
