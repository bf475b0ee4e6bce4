import type { DatabaseSync } from "node:sqlite";
import { BytebotError } from "../../wire/errors.ts";
import { tenantOf } from "../../wire/scope.ts";
import { addSpent, type Spent } from "../spent.ts";
import { CellRows, type CellRow } from "./cell-rows.ts";
import { checksumOf } from "./checksum.ts";
import type { Append, Job, Results } from "./jobs.ts";
import type { BlobRows } from "./blob-rows.ts";

type Trim = Extract<Job, { do: "trim" }>;

/** Writes entries, inside the writer's transaction. Refuses before it has changed anything. */
export class EntryRows {
  readonly cells: CellRows;
  private readonly blobs: BlobRows;
  private readonly sql;
  private next: number;

  constructor(db: DatabaseSync, blobs: BlobRows) {
    this.cells = new CellRows(db);
    this.blobs = blobs;
    this.sql = {
      id: db.prepare("SELECT number, id FROM entries WHERE cell = ? AND pos = ?"),
      add: db.prepare(
        "INSERT INTO entries (number, cell, pos, id, at, base, open, refs, event_count, event_total, events, checksum) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      ),
      isBase: db.prepare("SELECT 1 FROM entries WHERE cell = ? AND pos = ? AND base = 1"),
      refs: db.prepare("SELECT refs FROM entries WHERE cell = ? AND pos < ? AND refs IS NOT NULL"),
      drop: db.prepare("DELETE FROM entries WHERE cell = ? AND pos < ?"),
      spent: db.prepare("SELECT spent FROM tenants WHERE name = ?"),
      spend: db.prepare(
        "INSERT INTO tenants (name, blob_bytes, spent) VALUES (?1, 0, ?2) ON CONFLICT DO UPDATE SET spent = ?2",
      ),
    };
    this.next = endOf(db) + 1;
  }

  /** The transaction was rolled back: what it brought is as if it had never been. */
  forget(db: DatabaseSync): void {
    this.cells.forget();
    this.next = endOf(db) + 1;
  }

  append(job: Append): Results["append"] {
    const { cell: name, expected, id, events, eventCount, refs, base, open, at } = job;
    const { sql, cells } = this;
    const cell = cells.find(name);
    const head = cell?.head ?? 0;
    if (head !== expected) {
      const before = cell && (sql.id.get(cell.id, expected + 1) as { number: number; id: string } | undefined);
      if (before?.id === id) return [expected + 1, before.number];
      throw new BytebotError("conflict", `cell "${name}" is at ${head}, not at ${expected}`, { data: { head } });
    }
    if (refs && !(cell && this.blobs.has(cell.id, refs)))
      // Shared with an entry that was trimmed in between.
      throw new BytebotError("unavailable", "a blob of this entry is gone: put it again", { retryable: true });
    const owner = cell ?? cells.add(name);
    if (refs) this.blobs.use(owner.id, refs, 1);
    const row = {
      pos: head + 1,
      id,
      at: at ?? Date.now(),
      base: base ? 1 : 0,
      open: open ? 1 : 0,
      refs: refs ? JSON.stringify(refs) : null,
      events,
    };
    const number = this.next++;
    cells.grow(owner, eventCount, row.open);
    sql.add.run(
      number,
      owner.id,
      row.pos,
      id,
      row.at,
      row.base,
      row.open,
      row.refs,
      eventCount,
      owner.events,
      events,
      checksumOf(row),
    );
    if (job.about) cells.tell(owner, job.about);
    if (job.spent) this.spend(tenantOf(name), job.spent);
    if (job.wipe) {
      this.dropBelow(owner, row.pos);
      return [row.pos, number, this.blobs.forgetContent(owner.id, tenantOf(name))];
    }
    return [row.pos, number];
  }

  /** A cell without entries goes on from this position: what was before it is elsewhere. */
  begin({ cell: name, pos }: Extract<Job, { do: "begin" }>): undefined {
    const cell = this.cells.find(name) ?? this.cells.add(name);
    if (!this.sql.id.get(cell.id, cell.head)) this.cells.rebase(cell, pos);
  }

  trim({ cell: name, base }: Trim): undefined {
    const { sql } = this;
    const cell = this.cells.find(name);
    if (!cell || !sql.isBase.get(cell.id, base))
      throw new BytebotError(
        "invalid_params",
        `cell "${name}" has no base entry at ${base}: only below one may be trimmed`,
      );
    this.dropBelow(cell, base);
  }

  private dropBelow(cell: CellRow, base: number): void {
    for (const { refs } of this.sql.refs.all(cell.id, base) as { refs: string }[])
      this.blobs.use(cell.id, JSON.parse(refs) as string[], -1);
    this.sql.drop.run(cell.id, base);
    this.cells.rebase(cell, base);
  }

  private spend(tenant: string, more: Spent): void {
    const row = this.sql.spent.get(tenant) as { spent: string | null } | undefined;
    const before = typeof row?.spent === "string" ? (JSON.parse(row.spent) as Spent) : undefined;
    this.sql.spend.run(tenant, JSON.stringify(addSpent(before, more)));
  }
}

/** The newest entry's number, 0: none. */
export function endOf(db: DatabaseSync): number {
  return (db.prepare("SELECT max(number) AS number FROM entries").get() as { number: number | null }).number ?? 0;
}
