import { setImmediate as turnOfTheLoop } from "node:timers/promises";
import { BytebotError, type BlobBlock } from "../../wire/index.ts";
import { orderOf, toMark } from "../cursor.ts";
import type { CellInfo, Entry, EventLog, NewEntry, Place, Pos } from "../log.ts";
import { checkSize, linesOf } from "../size.ts";
import { findBlob, piecesOf } from "./blob-reading.ts";
import type { Placed, Reading } from "./reading.ts";
import type { WriterThread } from "./thread.ts";

/** After so many bytes others have their turn. */
const TURN_BYTES = 1024 * 1024;

/**
 * The log in one SQLite file: what was acknowledged survives the process, and with `synchronous: "full"` the loss of
 * power. A thread of its own writes, all that came while the last commit ran in the next one; this one reads.
 */
export class SqliteLog implements EventLog {
  private readonly thread: WriterThread;
  private readonly reading: Reading;
  /** Of what was acknowledged. */
  private last: number;
  private waiting: (() => void)[] = [];
  private state: "open" | "closed" = "open";

  constructor(thread: WriterThread, reading: Reading) {
    this.thread = thread;
    this.reading = reading;
    this.last = reading.last;
  }

  /** As the writer's own connection has it: 2 is FULL, 1 NORMAL. */
  get synchronous(): number {
    return this.thread.opened!.synchronous;
  }

  get end(): string {
    return this.reading.cursorOf(this.last);
  }

  async append(cell: string, expected: Pos, entry: NewEntry): Promise<Place> {
    const lines = linesOf(entry);
    checkSize(lines);
    const [pos, number] = await this.thread.post({
      do: "append",
      cell,
      expected,
      id: entry.id,
      events: `[${lines.join(",\n")}]`,
      eventCount: lines.length,
      refs: entry.refs?.length ? entry.refs : undefined,
      base: entry.base === true,
      open: entry.open === true,
    });
    if (number > this.last) this.last = number;
    if (this.waiting.length > 0) this.wake();
    return { pos, cursor: this.reading.cursorOf(number) };
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

  async trim(cell: string, base: Pos): Promise<void> {
    await this.thread.post({ do: "trim", cell, base });
  }

  putBlob(cell: string, bytes: Uint8Array): Promise<BlobBlock> {
    return this.thread.post({ do: "put", cell, bytes: new Uint8Array(bytes) });
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

  /** All that was appended is settled, and the file is free for another owner. */
  async close(): Promise<void> {
    this.state = "closed";
    this.wake();
    this.reading.db.close();
    await this.thread.close();
  }

  private after(cursors: string[]): number {
    if (cursors.length === 0) return 0;
    const own = cursors.map(toMark).find((mark) => mark?.log === this.reading.name);
    if (!own || own.order > this.last)
      throw new BytebotError("cursor_expired", `no cursor of this log among ${cursors.join(", ")}`);
    return own.order;
  }

  private wake(): void {
    const { waiting } = this;
    this.waiting = [];
    for (const resolve of waiting) resolve();
  }
}
