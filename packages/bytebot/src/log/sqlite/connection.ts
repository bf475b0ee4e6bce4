import { DatabaseSync, type StatementSync } from "node:sqlite";
import { BytebotError } from "../../wire/index.ts";
import { spoilsConnection, toLogError } from "./errors.ts";
import { checkVersion } from "./schema.ts";

/** A lock that somebody holds while they open or close the file: longer would hold up the event loop. */
const BUSY_MS = 10;

type Value = string | number | null;

/** A connection that only reads, with its statements; opened anew after a fault. */
export class ReadConnection {
  readonly file: string;
  private db: DatabaseSync | undefined;
  private statements = new Map<string, StatementSync>();
  private isClosed = false;

  /** Throws `unavailable` where the file cannot be read, or is not a log that this version knows. */
  constructor(file: string) {
    this.file = file;
    this.guard(() => this.open());
  }

  /** Reads see what was committed when they begin. Throws `unavailable`. */
  get<Row>(sql: string, ...values: Value[]): Row | undefined {
    return this.guard(() => this.prepare(sql).get(...values) as Row | undefined);
  }

  all<Row>(sql: string, ...values: Value[]): Row[] {
    return this.guard(() => this.prepare(sql).all(...values) as Row[]);
  }

  close(): void {
    this.isClosed = true;
    this.drop();
  }

  private guard<T>(read: () => T): T {
    if (this.isClosed) throw new BytebotError("unavailable", "the log is closed");
    try {
      return read();
    } catch (error) {
      if (spoilsConnection(error)) this.drop();
      throw toLogError(error, this.file);
    }
  }

  private prepare(sql: string): StatementSync {
    const known = this.statements.get(sql);
    if (known) return known;
    const statement = this.open().prepare(sql);
    this.statements.set(sql, statement);
    return statement;
  }

  private open(): DatabaseSync {
    if (this.db) return this.db;
    const db = new DatabaseSync(this.file, { readOnly: true, timeout: BUSY_MS });
    try {
      if (checkVersion(db, this.file) === 0)
        throw new BytebotError("unavailable", `${this.file} is empty, and no log yet`);
    } catch (error) {
      db.close();
      throw error;
    }
    return (this.db = db);
  }

  private drop(): void {
    this.statements.clear();
    const { db } = this;
    this.db = undefined;
    db?.close();
  }
}
