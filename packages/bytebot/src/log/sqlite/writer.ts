import type { DatabaseSync } from "node:sqlite";
import { BlobRows, type UploadRows } from "./blob-rows.ts";
import { connect } from "./connect.ts";
import { endOf, EntryRows } from "./entries.ts";
import { concernsOnePart, spoilsConnection, toLogError } from "./errors.ts";
import type { Answer, Job, Opened, WriterOptions } from "./jobs.ts";
import { weightOf } from "./jobs.ts";
import { identityOf, lock, lost, ownerIn, replaced, take } from "./lease.ts";
import { pragma } from "./schema.ts";
import { BytebotError } from "../../wire/errors.ts";
import { tenantOf } from "../../wire/scope.ts";

/** Pages written since the last checkpoint: then the next one comes. */
const CHECKPOINT_PAGES = 2000;
const PAGE_BYTES = 4096;
/** Of the file's pages may be free before room is given back: one in so many. They are used again first. */
const FREE_SHARE = 4;
/** And given back at once. */
const PAGES_AT_ONCE = 256;

interface Connection {
  db: DatabaseSync;
  entries: EntryRows;
  blobs: BlobRows;
  generation: ReturnType<DatabaseSync["prepare"]>;
}

/** Pages in the WAL, and of them those that are in the file. */
interface Checkpoint {
  log: number;
  checkpointed: number;
}

/** The one that writes: owns the file's lock and lease, and the connection, which it opens anew after a fault. */
export class Writer {
  readonly opened: Opened;
  private readonly options: WriterOptions;
  private readonly lock: DatabaseSync;
  private readonly generation: number;
  private readonly identity: string | undefined;
  private readonly uploads: UploadRows = new Map();
  private connection: Connection | undefined;
  /** Something was wiped, and the WAL may still have it. */
  private unscrubbed = false;
  /** Pages that may have been written since the last checkpoint, at most. */
  private unchecked = 0;

  /** Throws `conflict` where another process has the file, `not_found`, `unavailable`. */
  constructor(options: WriterOptions) {
    this.options = options;
    this.lock = lock(options.file);
    try {
      const { db, blobs } = this.open();
      this.identity = identityOf(options.file);
      this.generation = within(db, () => {
        this.unscrubbed = blobs.sweep();
        return take(db);
      });
      this.opened = {
        name: (db.prepare("SELECT name FROM log").get() as { name: string }).name,
        end: endOf(db),
        generation: this.generation,
        synchronous: pragma(db, "synchronous"),
        blobBytes: (db.prepare("SELECT total(blob_bytes) AS bytes FROM tenants").get() as { bytes: number }).bytes,
      };
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /**
   * One transaction, and what each job of it came to, in order. What is not answered with a value did not happen, or may
   * not have. `more` adds what has come meanwhile, before the commit; false: there is nothing.
   */
  run(jobs: readonly Job[], more: () => boolean = () => false): Answer[] {
    try {
      const answers = this.commit(jobs, more);
      // Each may change a page of the index beside those of its own.
      for (const job of jobs) this.unchecked += weightOf(job) / PAGE_BYTES + 1;
      return answers;
    } catch (error) {
      if (jobs.length > 1 && concernsOnePart(error) && !(error instanceof BytebotError))
        return jobs.flatMap((job) => this.run([job]));
      const refusal = toLogError(error, this.options.file).toWire();
      return jobs.map(() => ({ error: refusal }));
    }
  }

  /**
   * What was wiped is in the pages no more, and with this in no file: what the WAL still has of it goes. Where somebody
   * reads just now, it is tried again later.
   */
  scrub(isNeeded: boolean): void {
    this.unscrubbed ||= isNeeded;
    const db = this.connection?.db;
    if (!db || !this.unscrubbed) return;
    try {
      const { busy } = db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get() as { busy: number };
      if (busy === 0) this.unscrubbed = false;
    } catch (error) {
      if (spoilsConnection(error)) this.drop();
    }
  }

  /** What can wait until everybody has their answer. */
  tidy(hasTrimmed: boolean): void {
    const db = this.connection?.db;
    if (!db) return;
    try {
      if (hasTrimmed && pragma(db, "freelist_count") * FREE_SHARE > pragma(db, "page_count")) {
        db.exec(`PRAGMA incremental_vacuum(${PAGES_AT_ONCE})`);
        this.unchecked += PAGES_AT_ONCE;
      }
      if (this.unchecked < CHECKPOINT_PAGES) return;
      // Often it is less, as many changes share a page. (An SQLite before 3.51 takes NOOP for PASSIVE, which is as right.)
      const { log, checkpointed } = db.prepare("PRAGMA wal_checkpoint(NOOP)").get() as unknown as Checkpoint;
      this.unchecked = log - checkpointed;
      if (this.unchecked < CHECKPOINT_PAGES) return;
      this.unchecked = 0;
      db.exec("PRAGMA wal_checkpoint(PASSIVE)");
    } catch (error) {
      // Nothing is lost by it: it is tried again later, and what is wrong with the file the next commit says.
      if (spoilsConnection(error)) this.drop();
    }
  }

  close(): void {
    try {
      this.drop();
    } finally {
      this.lock.close();
    }
  }

  private commit(jobs: readonly Job[], more: () => boolean): Answer[] {
    const { file } = this.options;
    const { db, entries, blobs, generation } = this.connection ?? this.open();
    const uploads = new Map(this.uploads);
    try {
      if (this.identity !== identityOf(file)) throw replaced(file);
      return within(db, () => {
        if ((generation.get() as { generation: number }).generation !== this.generation)
          throw lost(file, ownerIn(db), this.generation);
        const rows = { db, entries, blobs };
        const answers: Answer[] = [];
        do {
          for (let next = answers.length; next < jobs.length; next++) answers.push(answer(jobs[next]!, rows));
        } while (more());
        return answers;
      });
    } catch (error) {
      this.uploads.clear();
      for (const [key, upload] of uploads) this.uploads.set(key, upload);
      if (db.isTransaction || spoilsConnection(error)) this.drop();
      else entries.forget(db);
      throw error;
    }
  }

  private open(): Connection {
    const db = connect(this.options);
    try {
      const blobs = new BlobRows(db, this.uploads);
      const generation = db.prepare("SELECT generation FROM lease");
      return (this.connection = { db, blobs, entries: new EntryRows(db, blobs), generation });
    } catch (error) {
      db.close();
      throw error;
    }
  }

  private drop(): void {
    const db = this.connection?.db;
    this.connection = undefined;
    db?.close();
  }
}

/** One transaction: all of it, or nothing. */
function within<T>(db: DatabaseSync, work: () => T): T {
  db.exec("BEGIN IMMEDIATE");
  try {
    const result = work();
    db.exec("COMMIT");
    return result;
  } catch (error) {
    try {
      if (db.isTransaction) db.exec("ROLLBACK");
    } catch {
      // The connection is dropped by whoever finds it still in its transaction; the first error says why.
    }
    throw error;
  }
}

/** A refusal concerns its job alone; what the engine throws, all of them. */
function answer(job: Job, rows: Rows): Answer {
  try {
    return perform(job, rows);
  } catch (error) {
    if (error instanceof BytebotError) return { error: error.toWire() };
    throw error;
  }
}

type Rows = Pick<Connection, "db" | "entries" | "blobs">;

function perform(job: Job, { db, entries, blobs }: Rows) {
  switch (job.do) {
    case "append":
      return entries.append(job);
    case "begin":
      return entries.begin(job);
    case "trim":
      return entries.trim(job);
    case "put":
      return blobs.put(entries.cells.ensure(job.cell), job.bytes);
    case "write":
      return blobs.write(() => entries.cells.ensure(job.cell), job);
    case "keep":
      return blobs.keep(entries.cells.ensure(job.cell), job);
    case "drop": {
      const cell = entries.cells.find(job.cell);
      return cell !== undefined && blobs.dropSome(cell.id);
    }
    case "forget": {
      const cell = entries.cells.find(job.cell);
      return cell ? blobs.forgetContent(cell.id, tenantOf(job.cell)) : 0;
    }
    case "discard":
      return blobs.discard(job.upload);
    case "shrink":
      return db.exec("PRAGMA incremental_vacuum") as undefined;
    case "close":
      return undefined;
  }
}
