import { DatabaseSync } from "node:sqlite";
import type { WriterOptions } from "./jobs.ts";
import { createPrivate } from "./lease.ts";
import { checkVersion, migrate, pragma } from "./schema.ts";

/** How long another program's transaction is waited for, in milliseconds: in the writer's thread only. */
const BUSY_MS = 1000;

/** Opens the file to write, of the newest version. Throws where it is not a log that this version knows, and leaves it as it is. */
export function connect({ file, synchronous, maxBytes }: WriterOptions): DatabaseSync {
  createPrivate(file, file);
  look(file);
  // What refers to what is the writer's own, and `verify` checks it: no need to look at each insert.
  const db = new DatabaseSync(file, { timeout: BUSY_MS, enableForeignKeyConstraints: false });
  try {
    migrate(db, file);
    // What was deleted is written over: somebody may want it gone. Only trimming has more to write by it.
    db.exec("PRAGMA secure_delete = ON");
    // Checkpoints come after the answers, not within a commit: see Writer.
    db.exec(
      `PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous.toUpperCase()}; PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = 67108864`,
    );
    if (maxBytes !== undefined)
      db.exec(`PRAGMA max_page_count = ${Math.max(1, Math.floor(maxBytes / pragma(db, "page_size")))}`);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** To read only: nothing in the file is touched before it is known to be a log. */
function look(file: string): void {
  const db = new DatabaseSync(file, { readOnly: true, timeout: BUSY_MS });
  try {
    checkVersion(db, file);
  } finally {
    db.close();
  }
}
