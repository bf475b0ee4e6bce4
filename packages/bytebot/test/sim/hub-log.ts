import { BytebotError, reaches, type BlobBlock, type Event } from "../../src/wire/index.ts";
import type { CellInfo, Entry, EventLog, NewEntry, Place, Pos, Spent } from "../../src/log/index.ts";
import type { Life } from "./life.ts";
import type { Kept, SimLog } from "./log.ts";

/** The log as one Hub has it: once that one is dead, nothing is answered and nothing is taken any more. */
export class HubLog implements EventLog {
  private readonly log: SimLog;
  private readonly life: Life;

  constructor(log: SimLog, life: Life) {
    this.log = log;
    this.life = life;
  }

  get end(): string {
    return this.log.end;
  }

  append(cell: string, expected: Pos, entry: NewEntry): Promise<Place> {
    if (this.life.isDead) return this.life.never();
    return this.log.append(cell, expected, entry, this.life);
  }

  async *read(cell: string, after: Pos): AsyncIterable<Entry> {
    if (this.life.reads) await this.life.reads();
    for (const entry of this.entries(cell)) if (entry.pos > after) yield this.copy(entry);
  }

  async *readBack(cell: string, from?: string): AsyncIterable<Entry> {
    if (this.life.reads) await this.life.reads();
    const entries = this.entries(cell);
    const at = from === undefined ? entries.length - 1 : entries.findIndex(({ cursor }) => cursor === from);
    if (from !== undefined && at === -1) throw new BytebotError("cursor_expired", `no entry "${from}" in cell ${cell}`);
    for (const entry of entries.slice(0, at + 1).reverse()) yield this.copy(entry);
  }

  async *readAll(after: number, scopes: readonly string[]): AsyncIterable<Kept> {
    const { entries } = this.log;
    for (let at = after; at < entries.length; at++) {
      const entry = entries[at]!;
      if (!reaches(scopes, entry.cell)) continue;
      if (this.life.reads) await this.life.reads();
      if (this.log.isKept(entry)) yield this.copy(entry);
    }
  }

  async *tail(): AsyncIterable<Kept> {
    for (const entry of this.log.entries) if (this.log.isKept(entry)) yield this.copy(entry);
  }

  async head(cell: string): Promise<Entry | undefined> {
    const last = this.entries(cell).at(-1);
    return last && this.copy(last);
  }

  async *unfinished(): AsyncIterable<string> {
    for (const [cell, entries] of this.log.kept) if (entries.at(-1)!.open) yield cell;
  }

  async *cells(scopes: readonly string[]): AsyncIterable<CellInfo> {
    for (const [cell, entries] of this.log.kept) {
      if (!reaches(scopes, cell)) continue;
      const { pos: head, at } = entries.at(-1)!;
      const events = entries.reduce((sum, entry) => sum + entry.events.length, 0);
      const { cursor } = entries.at(-1)!;
      const about = this.log.abouts.get(cell);
      const info = { cell, head, base: entries[0]!.pos, entries: entries.length, events, at, cursor };
      yield about ? { ...info, about } : info;
    }
  }

  async spent(tenant: string): Promise<Spent | undefined> {
    if (this.life.reads) await this.life.reads();
    return this.log.spent.get(tenant);
  }

  async trim(cell: string, base: Pos): Promise<void> {
    if (!this.life.isDead) this.log.trim(cell, base);
  }

  putBlob(cell: string, bytes: Uint8Array): Promise<BlobBlock> {
    return this.log.putBlob(cell, bytes);
  }

  getBlob(cell: string, ref: string): Promise<Uint8Array> {
    return this.log.getBlob(cell, ref);
  }

  async close(): Promise<void> {
    // Nothing is open.
  }

  private entries(cell: string): readonly Kept[] {
    return this.log.kept.get(cell) ?? [];
  }

  private copy(entry: Kept): Kept {
    const gap = this.log.bases.get(entry.cell) === entry.pos ? { gap: true as const } : {};
    return { ...entry, events: structuredClone(entry.events) as Event[], ...gap };
  }
}
