import { createHash } from "node:crypto";
import { BytebotError, reaches, type BlobBlock, type Event } from "../../src/wire/index.ts";
import type { CellInfo, Entry, EventLog, NewEntry, Place, Pos } from "../../src/log/index.ts";
import type { Stage } from "./stage.ts";

export type Kept = Entry & { cell: string };

/** How often what goes wrong, of 1. */
export interface LogFaults {
  /** Committed, and the answer is lost: the Hub hears that the outcome is unknown. */
  lost: number;
  /** Not committed, and the outcome unknown. */
  unavailable: number;
  /** Refused for good. */
  refused: number;
  /** Longest time an append takes, in milliseconds. */
  slowMs: number;
}

/** A log whose appends take time, fail, or leave open whether they failed, as the seed decides. */
export class SimLog implements EventLog {
  readonly entries: Kept[] = [];
  /** Positions at which a cell's append was refused. */
  readonly gaps = new Map<string, number[]>();
  private readonly kept = new Map<string, Kept[]>();
  private readonly ids = new Map<string, Kept>();
  private readonly blobs = new Map<string, Uint8Array>();
  private readonly busy = new Set<string>();
  private readonly stage: Stage;

  constructor(stage: Stage) {
    this.stage = stage;
  }

  append(cell: string, expected: Pos, entry: NewEntry): Promise<Place> {
    const { time, random, faults } = this.stage;
    if (this.busy.has(cell)) this.stage.fail(`cell ${cell} has two appends in flight (LOG-3)`);
    this.busy.add(cell);
    const answer = Promise.withResolvers<Place>();
    const { lost, unavailable, refused, slowMs } = this.stage.quiet
      ? { ...faults, lost: 0, unavailable: 0, refused: 0 }
      : faults;
    const what = random.weighted([
      [Math.round(lost * 1000), "lost"],
      [Math.round(unavailable * 1000), "unavailable"],
      [Math.round(refused * 1000), "refused"],
      [1000, "committed"],
    ] as const);
    const finish = (settle: () => void): void => {
      this.busy.delete(cell);
      settle();
    };
    time.in(random.below(slowMs + 1), () => {
      try {
        if (what === "refused" && !this.ids.has(entry.id)) {
          this.gaps.set(cell, [...(this.gaps.get(cell) ?? []), this.position(cell)]);
          throw new BytebotError("unavailable", "disk full");
        }
        if (what !== "unavailable") {
          const { pos, cursor } = this.commit(cell, expected, entry);
          // At once: appends are answered in the order of their commits, also those of different cells.
          if (what === "committed") return finish(() => answer.resolve({ pos, cursor }));
        }
        throw new BytebotError("unavailable", `the log does not answer (${what})`, { retryable: true });
      } catch (error) {
        finish(() => answer.reject(BytebotError.from(error)));
      }
    });
    return answer.promise;
  }

  async *read(cell: string, after: Pos): AsyncIterable<Entry> {
    for (const entry of this.kept.get(cell) ?? []) if (entry.pos > after) yield copy(entry);
  }

  async *readBack(cell: string, from?: string): AsyncIterable<Entry> {
    const entries = this.kept.get(cell) ?? [];
    const at = from === undefined ? entries.length - 1 : entries.findIndex(({ cursor }) => cursor === from);
    if (from !== undefined && at === -1) throw new BytebotError("cursor_expired", `no entry "${from}" in cell ${cell}`);
    for (const entry of entries.slice(0, at + 1).reverse()) yield copy(entry);
  }

  get end(): string {
    return `s:${this.entries.length}`;
  }

  async *readAll(after: number, scopes: readonly string[]): AsyncIterable<Kept> {
    for (let at = after; at < this.entries.length; at++) {
      const entry = this.entries[at]!;
      if (reaches(scopes, entry.cell)) yield copy(entry);
    }
  }

  async *tail(): AsyncIterable<Kept> {
    for (const entry of this.entries) yield copy(entry);
  }

  async head(cell: string): Promise<Entry | undefined> {
    const last = this.kept.get(cell)?.at(-1);
    return last && copy(last);
  }

  async *unfinished(): AsyncIterable<string> {
    for (const [cell, entries] of this.kept) if (entries.at(-1)!.open) yield cell;
  }

  async *cells(scopes: readonly string[]): AsyncIterable<CellInfo> {
    for (const [cell, entries] of this.kept) {
      if (!reaches(scopes, cell)) continue;
      const { pos: head, at } = entries.at(-1)!;
      const events = entries.reduce((sum, entry) => sum + entry.events.length, 0);
      yield { cell, head, base: entries[0]!.pos, entries: entries.length, events, at };
    }
  }

  trim(): Promise<void> {
    return Promise.reject(new BytebotError("unavailable", "this log is not trimmed"));
  }

  async putBlob(cell: string, bytes: Uint8Array): Promise<BlobBlock> {
    const ref = `sha256-${createHash("sha256").update(bytes).digest("hex")}`;
    this.blobs.set(`${cell} ${ref}`, bytes);
    return { type: "blob", ref, mime_type: "application/octet-stream", size: bytes.length };
  }

  async getBlob(cell: string, ref: string): Promise<Uint8Array> {
    const bytes = this.blobs.get(`${cell} ${ref}`);
    if (!bytes) throw new BytebotError("not_found", `no blob ${ref} in cell "${cell}"`);
    return bytes;
  }

  async close(): Promise<void> {
    // Nothing is open.
  }

  position(cell: string): Pos {
    return this.kept.get(cell)?.at(-1)?.pos ?? 0;
  }

  /** The committed event with this cursor. */
  at(cell: string, cursor: unknown): Event | undefined {
    const text = String(cursor);
    const dot = text.lastIndexOf(".");
    const entry = this.entries[Number(text.slice(text.indexOf(":") + 1, dot)) - 1];
    return entry?.cell === cell ? entry.events[Number(text.slice(dot + 1))] : undefined;
  }

  private commit(cell: string, expected: Pos, entry: NewEntry): Kept {
    const before = this.ids.get(entry.id);
    if (before) return before;
    const head = this.position(cell);
    if (head !== expected) {
      throw new BytebotError("conflict", `cell "${cell}" is at ${head}, not at ${expected}`, { data: { head } });
    }
    const lines = entry.lines ?? entry.events.map((event) => JSON.stringify(event));
    const kept: Kept = {
      ...{ cell, id: entry.id, pos: head + 1, cursor: `s:${this.entries.length + 1}`, at: this.stage.time.now() },
      events: lines.map((line) => JSON.parse(line) as Event),
      ...(entry.base ? { base: true as const } : {}),
      ...(entry.open ? { open: true as const } : {}),
    };
    this.entries.push(kept);
    const entries = this.kept.get(cell);
    if (entries) entries.push(kept);
    else this.kept.set(cell, [kept]);
    this.ids.set(entry.id, kept);
    this.stage.committed(kept);
    return kept;
  }
}

function copy(entry: Kept): Kept {
  return { ...entry, events: structuredClone(entry.events) as Event[] };
}
