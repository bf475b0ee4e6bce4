import type { DatabaseSync } from "node:sqlite";
import type { About } from "../log.ts";

/** Cells that are remembered: the others are looked up. */
const REMEMBERED = 10_000;

/** Where a cell stands. */
export interface CellRow {
  readonly id: number;
  /** Position of its newest entry; below its base where there is none. */
  head: number;
  /** Since its beginning. */
  events: number;
  open: number;
}

/** The cells that are written to, remembered while the transactions succeed. */
export class CellRows {
  private readonly sql;
  private readonly known = new Map<string, CellRow>();

  constructor(db: DatabaseSync) {
    this.sql = {
      find: db.prepare("SELECT id, base, open FROM cells WHERE name = ?"),
      head: db.prepare("SELECT pos, event_total AS events FROM entries WHERE cell = ? ORDER BY pos DESC LIMIT 1"),
      add: db.prepare("INSERT INTO cells (name, base, open) VALUES (?, 1, 0)"),
      open: db.prepare("UPDATE cells SET open = ? WHERE id = ?"),
      base: db.prepare("UPDATE cells SET base = ? WHERE id = ?"),
      about: db.prepare("UPDATE cells SET about = ? WHERE id = ?"),
    };
  }

  find(name: string): CellRow | undefined {
    const known = this.known.get(name);
    if (known) return known;
    const row = this.sql.find.get(name) as { id: number; base: number; open: number } | undefined;
    if (!row) return undefined;
    const newest = this.sql.head.get(row.id) as { pos: number; events: number } | undefined;
    const { id, base, open } = row;
    return this.remember(name, { id, open, head: newest?.pos ?? base - 1, events: newest?.events ?? 0 });
  }

  add(name: string): CellRow {
    return this.remember(name, { id: Number(this.sql.add.run(name).lastInsertRowid), head: 0, events: 0, open: 0 });
  }

  /** The cell's id, made where there is none. */
  ensure(name: string): number {
    return (this.find(name) ?? this.add(name)).id;
  }

  /** One entry more. */
  grow(cell: CellRow, events: number, open: number): void {
    cell.head++;
    cell.events += events;
    if (cell.open === open) return;
    cell.open = open;
    this.sql.open.run(open, cell.id);
  }

  /** What lists say of it. */
  tell(cell: CellRow, about: About): void {
    this.sql.about.run(JSON.stringify(about), cell.id);
  }

  /** What is below this position is gone. */
  rebase(cell: CellRow, base: number): void {
    this.sql.base.run(base, cell.id);
    cell.head = Math.max(cell.head, base - 1);
  }

  /** What is in the file counts. */
  forget(): void {
    this.known.clear();
  }

  private remember(name: string, cell: CellRow): CellRow {
    if (this.known.size >= REMEMBERED) this.known.delete(this.known.keys().next().value!);
    this.known.set(name, cell);
    return cell;
  }
}
