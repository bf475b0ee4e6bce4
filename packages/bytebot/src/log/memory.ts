import { createHash } from "node:crypto";
import { BytebotError, type BlobBlock, type Event } from "../wire/index.ts";
import { fits, linesOf } from "./size.ts";
import {
  MAX_ENTRY_BYTES,
  MAX_ENTRY_EVENTS,
  type Entry,
  type EventLog,
  type NewEntry,
  type Place,
  type Pos,
} from "./log.ts";

/** An entry as it is kept: its events as JSON, so that nothing done to the objects later reaches the log. */
interface Kept {
  cell: string;
  id: string;
  lines: readonly string[];
  base: boolean;
  pos: Pos;
  cursor: string;
  at: number;
}

interface CellLog {
  entries: Kept[];
  /** Positions below it were trimmed. */
  base: Pos;
  head: Pos;
  blobs: Map<string, Uint8Array>;
  /** The entries by id: the same append again gets the same place. */
  ids: Map<string, Place>;
}

/** The log in this process's memory: for tests and hubs whose conversations may be lost. */
export class MemoryLog implements EventLog {
  private readonly cells = new Map<string, CellLog>();
  /** Every entry that is kept, by its place in the log's own order. */
  private readonly order = new Map<number, Kept>();
  private last = 0;
  private readonly name = `m${createHash("sha256")
    .update(String(performance.timeOrigin + Math.random()))
    .digest("hex")
    .slice(0, 12)}`;
  private waiting: (() => void)[] = [];
  private state: "open" | "closed" = "open";

  async append(cell: string, expected: Pos, entry: NewEntry): Promise<Place> {
    if (this.state === "closed") throw new BytebotError("unavailable", "the log is closed");
    const log = this.cell(cell);
    const before = log.ids.get(entry.id);
    if (before) return before;
    if (log.head !== expected) {
      throw new BytebotError("conflict", `cell "${cell}" is at ${log.head}, not at ${expected}`, {
        data: { head: log.head },
      });
    }
    const lines = linesOf(entry);
    checkSize(lines);
    const pos = log.head + 1;
    const cursor = `${this.name}:${++this.last}`;
    const kept = { cell, id: entry.id, lines, base: entry.base === true, pos, cursor, at: Date.now() };
    log.head = pos;
    log.entries.push(kept);
    log.ids.set(entry.id, kept);
    this.order.set(this.last, kept);
    this.wake();
    return { pos, cursor };
  }

  async *read(cell: string, after: Pos): AsyncIterable<Entry> {
    const log = this.cells.get(cell);
    if (!log) return;
    if (after < log.base - 1 && log.base > 0) throw trimmed(cell, log.base);
    for (
      let index = log.entries.findIndex((entry) => entry.pos > after);
      index !== -1 && index < log.entries.length;
      index++
    ) {
      yield toEntry(log.entries[index]!);
    }
  }

  async *tail(cursors: string[], signal: AbortSignal): AsyncIterable<Entry & { cell: string }> {
    let next = this.after(cursors) + 1;
    signal.addEventListener("abort", () => this.wake(), { once: true });
    while (!signal.aborted && this.state === "open") {
      const entry = this.order.get(next);
      if (next <= this.last) next++;
      if (entry) yield toEntry(entry);
      else if (next > this.last) await new Promise<void>((resolve) => this.waiting.push(resolve));
    }
  }

  async head(cell: string): Promise<Entry | undefined> {
    const last = this.cells.get(cell)?.entries.at(-1);
    return last && toEntry(last);
  }

  async trim(cell: string, base: Pos): Promise<void> {
    const log = this.cell(cell);
    const at = log.entries.findIndex((entry) => entry.pos === base && entry.base);
    if (at === -1)
      throw new BytebotError(
        "invalid_params",
        `cell "${cell}" has no base entry at ${base}: only below one may be trimmed`,
      );
    for (const { id, cursor } of log.entries.splice(0, at)) {
      log.ids.delete(id);
      this.order.delete(Number(cursor.slice(cursor.lastIndexOf(":") + 1)));
    }
    log.base = base;
  }

  async putBlob(cell: string, bytes: Uint8Array): Promise<BlobBlock> {
    const ref = `sha256-${createHash("sha256").update(bytes).digest("hex")}`;
    this.cell(cell).blobs.set(ref, bytes.slice());
    return { type: "blob", ref, mime_type: "application/octet-stream", size: bytes.length };
  }

  async getBlob(cell: string, ref: string): Promise<Uint8Array> {
    const bytes = this.cells.get(cell)?.blobs.get(ref);
    if (!bytes) throw new BytebotError("not_found", `no blob ${ref} in cell "${cell}"`);
    return bytes;
  }

  async close(): Promise<void> {
    this.state = "closed";
    this.wake();
  }

  private cell(name: string): CellLog {
    let log = this.cells.get(name);
    if (!log) {
      log = { entries: [], base: 0, head: 0, blobs: new Map(), ids: new Map() };
      this.cells.set(name, log);
    }
    return log;
  }

  private after(cursors: string[]): number {
    if (cursors.length === 0) return 0;
    const own = cursors.map((cursor) => /^(.+):(\d+)$/.exec(cursor)).find((match) => match?.[1] === this.name);
    const position = Number(own?.[2]);
    if (!own || position > this.last) {
      throw new BytebotError("cursor_expired", `no cursor of this log among ${cursors.join(", ")}`);
    }
    return position;
  }

  private wake(): void {
    const waiting = this.waiting;
    this.waiting = [];
    for (const resolve of waiting) resolve();
  }
}

function toEntry({ cell, id, lines, base, pos, cursor, at }: Kept): Entry & { cell: string } {
  const events = lines.map((line) => JSON.parse(line) as Event);
  return { cell, id, events, pos, cursor, at, ...(base ? { base } : {}) };
}

function checkSize(lines: readonly string[]): void {
  if (lines.length > MAX_ENTRY_EVENTS) {
    throw new BytebotError("too_large", `an entry holds ${MAX_ENTRY_EVENTS} events at most`);
  }
  if (!fits(lines, MAX_ENTRY_BYTES)) {
    throw new BytebotError("too_large", `an entry of more than ${MAX_ENTRY_BYTES} bytes: keep large parts as blobs`);
  }
}

function trimmed(cell: string, base: Pos): BytebotError {
  return new BytebotError("cursor_expired", `cell "${cell}" was trimmed below ${base}`, { data: { base } });
}
