import { BytebotError, reaches, type Event } from "../../wire/index.ts";
import { toMark } from "../cursor.ts";
import type { About, CellInfo, Entry, Pos } from "../log.ts";
import type { Spent } from "../spent.ts";
import { checksumOf, type Row } from "./checksum.ts";
import type { ReadConnection } from "./connection.ts";
import { damaged } from "./errors.ts";
import { merged } from "./merge.ts";
import { pace } from "./pace.ts";
import { rangesOf } from "./ranges.ts";

/** A reader of few cells goes from one to the next; one of more, or of a short way, passes over those it does not want. */
const FEW_CELLS = 64;
const FEW_ENTRIES = 1000;
/** So many are looked at to find those few. */
const MANY_CELLS = 10_000;
/** Cells of which a reader remembers whether it wants them. */
const REMEMBERED = 10_000;
const PAGE = 100;

const ROW =
  "SELECT number, cells.name AS cell, cells.base AS oldest, pos, entries.id AS id, entries.at AS at, entries.base AS base, entries.open AS open, refs, entries.events AS events, checksum FROM entries JOIN cells ON cells.id = entries.cell";
const AFTER = `${ROW} WHERE entries.cell = ? AND pos > ? ORDER BY pos LIMIT 1`;
const BELOW = `${ROW} WHERE entries.cell = ? AND pos < ? ORDER BY pos DESC LIMIT 1`;
const NUMBERED = `${ROW} WHERE number = ?`;
const NEXT = `${ROW} WHERE number > ? AND number <= ? ORDER BY number LIMIT 1`;
const NUMBERS = `SELECT number, cell FROM entries WHERE number > ? AND number <= ? ORDER BY number LIMIT ${PAGE}`;
const NAME = "SELECT name FROM cells WHERE id = ?";
const NAMED = `SELECT id, name, (SELECT number FROM entries WHERE cell = cells.id ORDER BY pos DESC LIMIT 1) AS newest FROM cells WHERE name >= ? AND name < ? ORDER BY name LIMIT ${PAGE}`;
const CELL = "SELECT id, base FROM cells WHERE name = ?";

type EntryRow = Row & { number: number; cell: string; oldest: number; checksum: number };
type CellRow = { id: number; base: number };
type CellListRow = Omit<CellInfo, "cursor" | "about"> & { number: number; about: string | null };

/** An entry with its cell. */
export type Placed = Entry & { cell: string };

/**
 * Reads a log entry by entry, each by an index and as it is at that moment, so that nothing is held between two of
 * them: neither memory nor a transaction. Throws `internal` for an entry that is damaged, `unavailable`.
 */
export class Reading {
  readonly db: ReadConnection;
  /** What is before the ":" of its cursors. */
  readonly name: string;

  constructor(db: ReadConnection) {
    this.db = db;
    this.name = db.get<{ name: string }>("SELECT name FROM log")!.name;
  }

  /** The newest entry's number; 0: none. */
  get last(): number {
    return this.db.get<{ last: number | null }>("SELECT max(number) AS last FROM entries")?.last ?? 0;
  }

  cursorOf(number: number): string {
    return `${this.name}:${number}`;
  }

  async *read(cell: string, after: Pos): AsyncGenerator<Entry> {
    const turn = pace();
    for (let pos = after; ;) {
      const known = this.db.get<CellRow>(CELL, cell);
      if (!known) return;
      const row = this.db.get<EntryRow>(AFTER, known.id, pos);
      // As of the same moment: a trim may come between two reads.
      const base = row?.oldest ?? known.base;
      if (pos + 1 < base) throw trimmed(cell, base);
      if (!row) return;
      pos = row.pos;
      yield this.toEntry(row);
      await turn();
    }
  }

  async *readBack(cell: string, from?: string): AsyncGenerator<Entry> {
    const turn = pace();
    const start = from === undefined ? undefined : this.withCursor(from);
    if (from !== undefined && start?.cell !== cell)
      throw new BytebotError("cursor_expired", `cell "${cell}" has no entry with the cursor "${from}"`);
    const known = this.db.get<CellRow>(CELL, cell);
    if (!known) return;
    let row = start ?? this.db.get<EntryRow>(BELOW, known.id, Number.MAX_SAFE_INTEGER);
    for (; row; row = this.db.get<EntryRow>(BELOW, known.id, row.pos)) {
      yield this.toEntry(row);
      await turn();
    }
  }

  /** All after this number, of the cells that these scopes reach, until there are no more than `end` says at that time. */
  async *readAll(after: number, end: () => number, scopes: readonly string[]): AsyncGenerator<Placed> {
    for (let from = after, until = end(); from < until; from = until, until = end())
      yield* this.between(from, until, scopes);
  }

  private async *between(after: number, until: number, scopes: readonly string[]): AsyncGenerator<Placed> {
    const turn = pace();
    const few = until - after > FEW_ENTRIES ? await this.few(scopes, after) : undefined;
    for await (const number of few ? merged(this.db, few, after, until) : this.numbers(after, until, scopes)) {
      const row = this.db.get<EntryRow>(NUMBERED, number);
      // Else trimmed since: its cell's base comes later.
      if (row) yield this.toEntry(row);
      await turn();
    }
  }

  /** Of the entries between two of the cells that these scopes reach: all are looked at, but for what is in them. */
  private async *numbers(after: number, until: number, scopes: readonly string[]): AsyncGenerator<number> {
    const turn = pace();
    const wanted = new Map<number, boolean>();
    for (let from = after; ;) {
      const page = this.db.all<{ number: number; cell: number }>(NUMBERS, from, until);
      for (const { number, cell } of page) {
        let isWanted = wanted.get(cell) ?? scopes.includes("*");
        if (!isWanted && !wanted.has(cell)) {
          isWanted = reaches(scopes, this.db.get<{ name: string }>(NAME, cell)?.name ?? "");
          if (wanted.size >= REMEMBERED) wanted.clear();
          wanted.set(cell, isWanted);
        }
        if (isWanted) yield number;
        await turn();
      }
      if (page.length < PAGE) return;
      from = page.at(-1)!.number;
    }
  }

  /** The oldest entry after this number and up to `until`, of any cell. */
  after(number: number, until: number): Placed | undefined {
    const row = this.db.get<EntryRow>(NEXT, number, until);
    return row && this.toEntry(row);
  }

  head(cell: string): Entry | undefined {
    const known = this.db.get<CellRow>(CELL, cell);
    const row = known && this.db.get<EntryRow>(BELOW, known.id, Number.MAX_SAFE_INTEGER);
    return row && this.toEntry(row);
  }

  async *unfinished(): AsyncGenerator<string> {
    for (let id = 0; ;) {
      const page = this.db.all<{ id: number; name: string }>(
        `SELECT id, name FROM cells WHERE open = 1 AND id > ? ORDER BY id LIMIT ${PAGE}`,
        id,
      );
      for (const cell of page) yield cell.name;
      if (page.length < PAGE) return;
      id = page.at(-1)!.id;
    }
  }

  async *cells(scopes: readonly string[]): AsyncGenerator<CellInfo> {
    const turn = pace();
    for (const { low, high } of rangesOf(scopes)) {
      for (let from = low; ;) {
        const page = this.db.all<CellListRow | { cell: string; entries: null }>(
          `SELECT * FROM cell_list WHERE cell >= ? AND cell < ? ORDER BY cell LIMIT ${PAGE}`,
          from,
          high,
        );
        for (const info of page) {
          // A cell that has blobs alone has no entry.
          if (info.entries !== null) yield this.toInfo(info);
          await turn();
        }
        if (page.length < PAGE) break;
        from = `${page.at(-1)!.cell}\0`;
      }
    }
  }

  spent(tenant: string): Spent | undefined {
    const row = this.db.get<{ spent: string | null }>("SELECT spent FROM tenants WHERE name = ?", tenant);
    return typeof row?.spent === "string" ? (JSON.parse(row.spent) as Spent) : undefined;
  }

  private toInfo({ number, about, ...info }: CellListRow): CellInfo {
    return { ...info, cursor: this.cursorOf(number), ...(about ? { about: JSON.parse(about) as About } : {}) };
  }

  private withCursor(cursor: string): EntryRow | undefined {
    const mark = toMark(cursor);
    return mark?.log === this.name ? this.db.get<EntryRow>(NUMBERED, mark.order) : undefined;
  }

  /** Ids of the cells that these scopes reach and that have something after this number; undefined where they are many. */
  private async few(scopes: readonly string[], after: number): Promise<number[] | undefined> {
    if (scopes.includes("*")) return undefined;
    const turn = pace();
    const ids: number[] = [];
    let seen = 0;
    for (const { low, high } of rangesOf(scopes)) {
      for (let from = low; ;) {
        const page = this.db.all<{ id: number; name: string; newest: number | null }>(NAMED, from, high);
        for (const { id, newest } of page) if (newest !== null && newest > after) ids.push(id);
        seen += page.length;
        if (ids.length > FEW_CELLS || seen > MANY_CELLS) return undefined;
        if (page.length < PAGE) break;
        from = `${page.at(-1)!.name}\0`;
        await turn();
      }
    }
    return ids;
  }

  private toEntry(row: EntryRow): Placed {
    const { cell, number, pos, id, at, base, open, oldest } = row;
    if (checksumOf(row) !== row.checksum) throw damaged(`the entry ${pos} of cell "${cell}"`, this.db.file);
    const events = JSON.parse(row.events) as Event[];
    // As the writer has joined them: no JSON has a line feed in a string.
    const lines = events.length === 0 ? [] : row.events.slice(1, -1).split(",\n");
    return {
      cell,
      id,
      events,
      ...(lines.length === events.length ? { lines } : {}),
      pos,
      cursor: this.cursorOf(number),
      at,
      ...(base === 1 ? { base: true as const } : {}),
      ...(open === 1 ? { open: true as const } : {}),
      // Positions begin with 1: one that is the oldest and is not 1 has had others before it.
      ...(pos === oldest && pos > 1 ? { gap: true as const } : {}),
    };
  }
}

function trimmed(cell: string, base: Pos): BytebotError {
  return new BytebotError("cursor_expired", `cell "${cell}" was trimmed below ${base}`, { data: { base } });
}
