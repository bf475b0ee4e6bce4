import { DatabaseSync } from "node:sqlite";
import { BytebotError } from "../../wire/index.ts";
import { toLogError } from "./errors.ts";
import { ownerIn, type Owner } from "./lease.ts";
import { checkVersion, pragma } from "./schema.ts";
import { blobProblems } from "./verify-blobs.ts";
import { entryProblems, type CellToCheck } from "./verify-entries.ts";

/** Something that is not as it must be. `where`: the file, a cell, an entry or a blob. */
export interface Problem {
  where: string;
  what: string;
}

/** What was looked at. */
export interface Verified {
  cells: number;
  entries: number;
  events: number;
  blobs: number;
  /** Who wrote to it last, or does so now. */
  owner: Owner;
  version: number;
}

/** Problems of the pages that are told. */
const MAX_PAGE_PROBLEMS = 100;

/**
 * Checks all that a log promises of its file, each problem as it is found; at the end, what was looked at. It only
 * reads, as of one moment, also while a Hub writes. Throws where the file cannot be opened at all.
 */
export function* verifySqlite(file: string): Generator<Problem, Verified> {
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(file, { readOnly: true, timeout: 1000 });
    const version = checkVersion(db, file);
    if (version === 0) throw new BytebotError("unavailable", `${file} is empty, and no log yet`);
    db.exec("BEGIN");
    const seen = { cells: 0, entries: 0, events: 0, blobs: 0, version, owner: ownerIn(db) };
    yield* pageProblems(db);
    yield* guarded("the file", () => cellProblems(db!, seen));
    yield* guarded("the file", () => countProblems(db!));
    return seen;
  } catch (error) {
    throw toLogError(error, file);
  } finally {
    db?.close();
  }
}

function* pageProblems(db: DatabaseSync): Generator<Problem> {
  yield* guarded("the pages of the file", function* () {
    const rows = db.prepare(`PRAGMA integrity_check(${MAX_PAGE_PROBLEMS})`).all() as { integrity_check: string }[];
    for (const { integrity_check: what } of rows) if (what !== "ok") yield { where: "the pages of the file", what };
  });
}

function* cellProblems(db: DatabaseSync, seen: Verified): Generator<Problem> {
  for (const cell of cellsOf(db)) {
    seen.cells++;
    yield* guarded(`cell "${cell.name}"`, () => entryProblems(db, cell, seen));
    yield* guarded(`the blobs of cell "${cell.name}"`, () => blobProblems(db, cell, seen));
  }
}

/** By their ids, so that one that cannot be read does not hide those after it. */
function* cellsOf(db: DatabaseSync): Generator<CellToCheck> {
  const next = db.prepare("SELECT id, name, base, open FROM cells WHERE id > ? ORDER BY id LIMIT 1");
  for (let cell = next.get(0); cell; cell = next.get(cell["id"] as number)) yield cell as unknown as CellToCheck;
}

function* countProblems(db: DatabaseSync): Generator<Problem> {
  const stray = db.prepare(
    "SELECT number FROM entries WHERE cell NOT IN (SELECT id FROM cells) UNION ALL SELECT id FROM blobs WHERE cell NOT IN (SELECT id FROM cells) UNION ALL SELECT blob FROM pieces WHERE blob NOT IN (SELECT id FROM blobs)",
  );
  const strays = stray.all().length;
  if (strays > 0) yield { where: "the file", what: `${strays} rows belong to no cell or blob` };
  if (pragma(db, "application_id") === 0) yield { where: "the file", what: "its header does not say what it is" };
}

/** What cannot be read is a problem too, and what comes after it is looked at all the same. */
function* guarded(where: string, problems: () => Generator<Problem>): Generator<Problem> {
  try {
    yield* problems();
  } catch (error) {
    yield { where, what: error instanceof Error ? error.message : String(error) };
  }
}
