import { setImmediate as turnOfTheLoop } from "node:timers/promises";
import { BytebotError, type BlobBlock } from "../../wire/index.ts";
import { orderOf, toMark } from "../cursor.ts";
import type { CellInfo, Entry, EventLog, NewEntry, Place, Pos } from "../log.ts";
import type { Spent } from "../spent.ts";
import { findBlob, piecesOf } from "./blob-reading.ts";
import { ReadConnection } from "./connection.ts";
import { Reading, type Placed } from "./reading.ts";

/** After so many bytes others have their turn. */
const TURN_BYTES = 1024 * 1024;

/** A log's file, to read only: whoever owns it goes on meanwhile, and each read sees what is committed by then. */
export class SqliteReader implements EventLog {
  protected readonly reading: Reading;
  private waiting: (() => void)[] = [];
  private state: "open" | "closed" = "open";

  /** Throws `unavailable` where it cannot be read, or is no log that this version knows. */
  constructor(db: ReadConnection | string) {
    this.reading = new Reading(typeof db === "string" ? new ReadConnection(db) : db);
  }

  get end(): string {
    return this.reading.cursorOf(this.last);
  }

  /** The newest entry's number. */
  protected get last(): number {
    return this.reading.last;
  }

  append(_cell: string, _expected: Pos, _entry: NewEntry): Promise<Place> {
    return Promise.reject(this.readOnly());
  }

  trim(_cell: string, _base: Pos): Promise<void> {
    return Promise.reject(this.readOnly());
  }

  putBlob(_cell: string, _bytes: Uint8Array): Promise<BlobBlock> {
    return Promise.reject(this.readOnly());
  }

  read(cell: string, after: Pos): AsyncIterable<Entry> {
    return this.reading.read(cell, after);
  }

  readAll(after: number, scopes: readonly string[]): AsyncIterable<Placed> {
    return this.reading.readAll(after, () => this.last, scopes);
  }

  readBack(cell: string, from?: string): AsyncIterable<Entry> {
    return this.reading.readBack(cell, from);
  }

  /** What others commit is seen when this log appends something itself: see SqliteLog. */
  async *tail(cursors: string[], signal: AbortSignal): AsyncIterable<Placed> {
    let after = this.after(cursors);
    const wake = (): void => this.wake();
    signal.addEventListener("abort", wake, { once: true });
    try {
      while (!signal.aborted && this.state === "open") {
        const entry = this.reading.after(after, this.last);
        if (entry) {
          after = orderOf(entry.cursor);
          yield entry;
        } else await new Promise<void>((resolve) => this.waiting.push(resolve));
      }
    } finally {
      signal.removeEventListener("abort", wake);
    }
  }

  async head(cell: string): Promise<Entry | undefined> {
    return this.reading.head(cell);
  }

  unfinished(): AsyncIterable<string> {
    return this.reading.unfinished();
  }

  cells(scopes: readonly string[]): AsyncIterable<CellInfo> {
    return this.reading.cells(scopes);
  }

  async spent(tenant: string): Promise<Spent | undefined> {
    return this.reading.spent(tenant);
  }

  async getBlob(cell: string, ref: string): Promise<Uint8Array> {
    const blob = findBlob(this.reading.db, cell, "entry", ref);
    if (!blob) throw new BytebotError("not_found", `no blob ${ref} in cell "${cell}"`);
    const bytes = new Uint8Array(blob.size);
    let filled = 0;
    let turn = TURN_BYTES;
    for (const piece of piecesOf(this.reading.db, blob)) {
      bytes.set(piece, filled);
      filled += piece.length;
      if ((turn -= piece.length) > 0) continue;
      turn = TURN_BYTES;
      await turnOfTheLoop();
    }
    return bytes;
  }

  async close(): Promise<void> {
    this.state = "closed";
    this.wake();
    this.reading.db.close();
  }

  /** Whoever follows the log looks again. */
  protected wake(): void {
    if (this.waiting.length === 0) return;
    const { waiting } = this;
    this.waiting = [];
    for (const resolve of waiting) resolve();
  }

  private after(cursors: string[]): number {
    if (cursors.length === 0) return 0;
    const own = cursors.map(toMark).find((mark) => mark?.log === this.reading.name);
    if (!own || own.order > this.last)
      throw new BytebotError("cursor_expired", `no cursor of this log among ${cursors.join(", ")}`);
    return own.order;
  }

  private readOnly(): BytebotError {
    return new BytebotError("forbidden", `the log ${this.reading.db.file} was opened to be read only`);
  }
}
