import type { DatabaseSync } from "node:sqlite";
import { randomBytes } from "node:crypto";
import { BytebotError } from "../../wire/errors.ts";

/** "bbot": says to whom an SQLite file belongs, in its header. */
export const APPLICATION_ID = 0x62626f74;

/** From each version of the file to the next, the first from an empty one. What was released is never changed. */
export const steps: readonly ((db: DatabaseSync) => void)[] = [
  (db) => {
    db.exec(`
      CREATE TABLE log (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        name TEXT NOT NULL,             -- what is before the ":" of every cursor
        created_at INTEGER NOT NULL     -- milliseconds since 1970, as every "at"
      );
      CREATE TABLE lease (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        generation INTEGER NOT NULL,    -- one more with each owner: an older one writes nothing any more
        pid INTEGER NOT NULL,
        host TEXT NOT NULL,
        since INTEGER NOT NULL,
        synchronous INTEGER NOT NULL    -- of its connection: 2 is FULL, 1 NORMAL
      );
      CREATE TABLE cells (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        base INTEGER NOT NULL,          -- what is below this position was trimmed
        open INTEGER NOT NULL           -- 1: something was under way after its newest entry
      );
      CREATE INDEX cells_open ON cells (id) WHERE open = 1;
      CREATE TABLE entries (
        number INTEGER PRIMARY KEY,     -- the order of commits, over all cells
        cell INTEGER NOT NULL REFERENCES cells (id),
        pos INTEGER NOT NULL,           -- 1, 2, 3 … within its cell
        id TEXT NOT NULL,
        at INTEGER NOT NULL,
        base INTEGER NOT NULL,
        open INTEGER NOT NULL,
        refs TEXT,                      -- JSON: the blobs that are part of it
        event_count INTEGER NOT NULL,
        event_total INTEGER NOT NULL,   -- of its cell up to here, since its beginning
        events TEXT NOT NULL,           -- JSON
        checksum INTEGER NOT NULL       -- see checksum.ts
      );
      CREATE UNIQUE INDEX entries_place ON entries (cell, pos);
      CREATE VIEW cell_list AS          -- by index alone, however much a cell has
        SELECT cells.name AS cell, newest.pos AS head, oldest.pos AS base, newest.pos - oldest.pos + 1 AS entries,
          newest.event_total - oldest.event_total + oldest.event_count AS events, newest.at AS at
        FROM cells
        LEFT JOIN entries AS newest ON newest.number =
          (SELECT number FROM entries WHERE cell = cells.id ORDER BY pos DESC LIMIT 1)
        LEFT JOIN entries AS oldest ON oldest.number =
          (SELECT number FROM entries WHERE cell = cells.id ORDER BY pos LIMIT 1);
      CREATE TABLE blobs (
        id INTEGER PRIMARY KEY,
        cell INTEGER NOT NULL REFERENCES cells (id),
        use TEXT NOT NULL,              -- "entry": a large event; "content": what components put
        ref TEXT,                       -- none: not all of it is there yet
        mime_type TEXT NOT NULL,
        size INTEGER NOT NULL,
        parts INTEGER NOT NULL,         -- entries that it is part of
        at INTEGER NOT NULL
      );
      CREATE UNIQUE INDEX blobs_ref ON blobs (cell, use, ref) WHERE ref IS NOT NULL;
      CREATE INDEX blobs_loose ON blobs (id) WHERE ref IS NULL OR (use = 'entry' AND parts = 0);
      CREATE TABLE pieces (
        blob INTEGER NOT NULL REFERENCES blobs (id),
        number INTEGER NOT NULL,
        bytes BLOB NOT NULL,
        checksum INTEGER NOT NULL,      -- crc32 of the bytes
        PRIMARY KEY (blob, number)
      );
      CREATE TABLE tenants (
        name TEXT PRIMARY KEY,
        blob_bytes INTEGER NOT NULL     -- what its "content" counts against its quota
      ) WITHOUT ROWID;
    `);
    const name = `s${randomBytes(6).toString("hex")}`;
    db.prepare("INSERT INTO log (id, name, created_at) VALUES (1, ?, ?)").run(name, Date.now());
    db.exec("INSERT INTO lease (id, generation, pid, host, since, synchronous) VALUES (1, 0, 0, '', 0, 0)");
  },
  (db) => {
    db.exec(`
      ALTER TABLE cells ADD COLUMN about TEXT;    -- JSON: what lists say of it
      ALTER TABLE tenants ADD COLUMN spent TEXT;  -- JSON: what it has used up in its newest period
      DROP VIEW cell_list;
      CREATE VIEW cell_list AS                    -- by index alone, however much a cell has
        SELECT cells.name AS cell, newest.pos AS head, oldest.pos AS base, newest.pos - oldest.pos + 1 AS entries,
          newest.event_total - oldest.event_total + oldest.event_count AS events, newest.at AS at,
          newest.number AS number, cells.about AS about
        FROM cells
        LEFT JOIN entries AS newest ON newest.number =
          (SELECT number FROM entries WHERE cell = cells.id ORDER BY pos DESC LIMIT 1)
        LEFT JOIN entries AS oldest ON oldest.number =
          (SELECT number FROM entries WHERE cell = cells.id ORDER BY pos LIMIT 1);
    `);
  },
];

/** Throws `unavailable` where the file is not a log, or one of a later version; it stays as it is. */
export function checkVersion(db: DatabaseSync, file: string, newest: number = steps.length): number {
  const id = pragma(db, "application_id");
  const version = pragma(db, "user_version");
  if (id === 0 && version === 0 && pragma(db, "schema_version") === 0) return 0;
  if (id !== APPLICATION_ID)
    throw new BytebotError("unavailable", `${file} is an SQLite file of another program, not a log: name another file`);
  if (version > newest)
    throw new BytebotError(
      "unavailable",
      `${file} is a log of version ${version}, and this bytebot knows ${newest} at most: use the bytebot that wrote it, or a newer one`,
    );
  return version;
}

/** Brings the file to the newest version, all in one transaction: it is of the old or of the new one, whatever happens. */
export function migrate(db: DatabaseSync, file: string, all = steps): void {
  if (checkVersion(db, file, all.length) === all.length) return;
  // Of a file without a page only; later they are part of it.
  db.exec("PRAGMA auto_vacuum = INCREMENTAL");
  db.exec("BEGIN IMMEDIATE");
  try {
    for (const step of all.slice(checkVersion(db, file, all.length))) step(db);
    db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${all.length}; COMMIT`);
  } catch (error) {
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}

/** A pragma that is one number. */
export function pragma(db: DatabaseSync, name: string): number {
  return Number(Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0]);
}
