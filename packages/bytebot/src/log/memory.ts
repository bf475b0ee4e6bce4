import { createHash } from "node:crypto";
import { setImmediate as turnOfTheLoop } from "node:timers/promises";
import { BytebotError, reaches, tenantOf, type BlobBlock, type Event } from "../wire/index.ts";
import { toMark } from "./cursor.ts";
import { checkSize, linesOf } from "./size.ts";
import { addSpent, type Spent } from "./spent.ts";
import type { About, CellInfo, Entry, EventLog, NewEntry, Place, Pos } from "./log.ts";

/** What a reader may pass over before others have their turn. */
const PASSED_AT_ONCE = 2000;

/** An entry as it is kept: its events as JSON, so that nothing done to the objects later reaches the log. */
interface Kept {
  cell: string;
  id: string;
  lines: readonly string[];
  refs: readonly string[];
  base: boolean;
  open: boolean;
  pos: Pos;
  order: number;
  at: number;
  state: "kept" | "trimmed";
}

interface CellLog {
  /** Those that are kept, by position, without a gap. */
  entries: Kept[];
  /** Positions below it were trimmed. */
  base: Pos;
  head: Pos;
  /** Made with the first: most cells have none. */
  blobs: Map<string, Blob> | undefined;
  about: About | undefined;
}

interface Blob {
  bytes: Uint8Array;
  /** Entries that it is a part of. */
  parts: number;
}

const NONE: readonly string[] = [];

/** The log in this process's memory: for tests and hubs whose conversations may be lost. */
export class MemoryLog implements EventLog {
  private readonly logs = new Map<string, CellLog>();
  /** Those that are `unfinished`. */
  private readonly opened = new Set<string>();
  private readonly used = new Map<string, Spent>();
  /** In the log's own order; what was trimmed is swept out when it is the greater part. */
  private order: Kept[] = [];
  private trimmed = 0;
  private last = 0;
  private readonly name = `m${createHash("sha256")
    .update(String(performance.timeOrigin + Math.random()))
    .digest("hex")
    .slice(0, 12)}`;
  private waiting: (() => void)[] = [];
  private state: "open" | "closed" = "open";

  append(cell: string, expected: Pos, entry: NewEntry): Place | Promise<Place> {
    try {
      return this.commit(cell, expected, entry);
    } catch (error) {
      return Promise.reject(BytebotError.from(error));
    }
  }

  private commit(cell: string, expected: Pos, entry: NewEntry): Place {
    if (this.state === "closed") throw new BytebotError("unavailable", "the log is closed");
    const lines = linesOf(entry);
    checkSize(lines);
    const log = this.cell(cell);
    if (log.head !== expected) {
      const before = log.entries[expected + 1 - (log.entries[0]?.pos ?? 1)];
      if (before?.id === entry.id) return { pos: before.pos, cursor: this.cursorOf(before.order) };
      throw new BytebotError("conflict", `cell "${cell}" is at ${log.head}, not at ${expected}`, {
        data: { head: log.head },
      });
    }
    const { id, refs = NONE, base = false, open = false, about, spent } = entry;
    if (!refs.every((ref) => log.blobs?.has(ref))) {
      // Shared with an entry that was trimmed in between.
      throw new BytebotError("unavailable", "a blob of this entry is gone: put it again", { retryable: true });
    }
    const pos = log.head + 1;
    const order = ++this.last;
    const kept: Kept = { cell, id, lines, refs, base, open, pos, order, at: Date.now(), state: "kept" };
    log.head = pos;
    log.entries.push(kept);
    if (open) this.opened.add(cell);
    else this.opened.delete(cell);
    for (const ref of refs) log.blobs!.get(ref)!.parts++;
    this.order.push(kept);
    if (about) log.about = about;
    if (spent) this.used.set(tenantOf(cell), addSpent(this.used.get(tenantOf(cell)), spent));
    if (entry.wipe) this.drop(log, pos);
    if (this.waiting.length > 0) this.wake();
    return { pos, cursor: this.cursorOf(order) };
  }

  async spent(tenant: string): Promise<Spent | undefined> {
    return this.used.get(tenant);
  }

  get end(): string {
    return this.cursorOf(this.last);
  }

  private cursorOf(order: number): string {
    return `${this.name}:${order}`;
  }

  async *read(cell: string, after: Pos): AsyncIterable<Entry> {
    const log = this.logs.get(cell);
    if (!log) return;
    for (let next = after + 1; next <= log.head; next++) {
      // Asked for at each step: it may have been trimmed meanwhile.
      if (next < log.base) throw trimmed(cell, log.base);
      const entry = log.entries[next - log.entries[0]!.pos];
      if (entry) yield this.toEntry(entry);
    }
  }

  async *readAll(after: number, scopes: readonly string[]): AsyncIterable<Entry & { cell: string }> {
    const reached = new Map<string, boolean>();
    let passed = 0;
    for (let entry = this.next(after); entry; entry = this.next(entry.order)) {
      let wanted = reached.get(entry.cell);
      if (wanted === undefined) reached.set(entry.cell, (wanted = reaches(scopes, entry.cell)));
      if (wanted) yield this.toEntry(entry);
      else if (++passed % PASSED_AT_ONCE === 0) await turnOfTheLoop();
    }
  }

  async *readBack(cell: string, from?: string): AsyncIterable<Entry> {
    const log = this.logs.get(cell);
    const start = from === undefined ? log?.entries.at(-1) : this.kept(from);
    if (from !== undefined && start?.cell !== cell)
      throw new BytebotError("cursor_expired", `cell "${cell}" has no entry with the cursor "${from}"`);
    if (!log || !start) return;
    for (let pos = start.pos; pos >= log.entries[0]!.pos; pos--)
      yield this.toEntry(log.entries[pos - log.entries[0]!.pos]!);
  }

  async *tail(cursors: string[], signal: AbortSignal): AsyncIterable<Entry & { cell: string }> {
    let after = this.after(cursors);
    signal.addEventListener("abort", () => this.wake(), { once: true });
    while (!signal.aborted && this.state === "open") {
      const entry = this.next(after);
      if (entry) {
        after = entry.order;
        yield this.toEntry(entry);
      } else await new Promise<void>((resolve) => this.waiting.push(resolve));
    }
  }

  async head(cell: string): Promise<Entry | undefined> {
    const last = this.logs.get(cell)?.entries.at(-1);
    return last && this.toEntry(last);
  }

  async *unfinished(): AsyncIterable<string> {
    yield* [...this.opened];
  }

  async *cells(scopes: readonly string[]): AsyncIterable<CellInfo> {
    const runs: string[][] = [[]];
    let passed = 0;
    for (const cell of this.logs.keys()) {
      if (reaches(scopes, cell)) runs.at(-1)!.push(cell);
      if (++passed % PASSED_AT_ONCE !== 0) continue;
      runs.push([]);
      await turnOfTheLoop();
    }
    for (const run of runs) {
      run.sort();
      await turnOfTheLoop();
    }
    for (const cell of inOrder(runs)) {
      const { head, entries, about } = this.logs.get(cell)!;
      const [first, last] = [entries[0], entries.at(-1)];
      if (!first || !last) continue;
      const events = entries.reduce((sum, { lines }) => sum + lines.length, 0);
      const newest = { at: last.at, cursor: this.cursorOf(last.order) };
      yield { cell, head, base: first.pos, entries: entries.length, events, ...newest, ...(about ? { about } : {}) };
      if (++passed % PASSED_AT_ONCE === 0) await turnOfTheLoop();
    }
  }

  async trim(cell: string, base: Pos): Promise<void> {
    const log = this.cell(cell);
    if (!log.entries.some((entry) => entry.pos === base && entry.base))
      throw new BytebotError(
        "invalid_params",
        `cell "${cell}" has no base entry at ${base}: only below one may be trimmed`,
      );
    this.drop(log, base);
  }

  /** What is below this position. */
  private drop(log: CellLog, base: Pos): void {
    const at = log.entries.findIndex((entry) => entry.pos === base);
    for (const entry of log.entries.splice(0, at)) {
      entry.state = "trimmed";
      entry.lines = [];
      for (const ref of entry.refs) if (--log.blobs!.get(ref)!.parts === 0) log.blobs!.delete(ref);
    }
    if (at > 0) log.base = base;
    this.trimmed += at;
    if (this.trimmed * 2 <= this.order.length) return;
    this.order = this.order.filter(({ state }) => state === "kept");
    this.trimmed = 0;
  }

  async putBlob(cell: string, bytes: Uint8Array): Promise<BlobBlock> {
    const ref = `sha256-${createHash("sha256").update(bytes).digest("hex")}`;
    const blobs = (this.cell(cell).blobs ??= new Map<string, Blob>());
    if (!blobs.has(ref)) blobs.set(ref, { bytes: bytes.slice(), parts: 0 });
    return { type: "blob", ref, mime_type: "application/octet-stream", size: bytes.length };
  }

  async getBlob(cell: string, ref: string): Promise<Uint8Array> {
    const blob = this.logs.get(cell)?.blobs?.get(ref);
    if (!blob) throw new BytebotError("not_found", `no blob ${ref} in cell "${cell}"`);
    return blob.bytes;
  }

  async close(): Promise<void> {
    this.state = "closed";
    this.wake();
  }

  private cell(name: string): CellLog {
    let log = this.logs.get(name);
    if (!log) {
      log = { entries: [], base: 0, head: 0, blobs: undefined, about: undefined };
      this.logs.set(name, log);
    }
    return log;
  }

  private after(cursors: string[]): number {
    if (cursors.length === 0) return 0;
    const own = cursors.map(toMark).find((mark) => mark?.log === this.name);
    if (!own || own.order > this.last) {
      throw new BytebotError("cursor_expired", `no cursor of this log among ${cursors.join(", ")}`);
    }
    return own.order;
  }

  /** The entry with this cursor. */
  private kept(cursor: string): Kept | undefined {
    const mark = toMark(cursor);
    const found = mark?.log === this.name ? this.next(mark.order - 1) : undefined;
    return found?.order === mark?.order ? found : undefined;
  }

  /** The oldest kept entry after this order. */
  private next(after: number): Kept | undefined {
    let low = 0;
    for (let high = this.order.length; low < high;) {
      const middle = (low + high) >>> 1;
      if (this.order[middle]!.order > after) high = middle;
      else low = middle + 1;
    }
    while (this.order[low]?.state === "trimmed") low++;
    return this.order[low];
  }

  private toEntry({ cell, id, lines, base, open, pos, order, at }: Kept): Entry & { cell: string } {
    const events = lines.map((line) => JSON.parse(line) as Event);
    const oldest = this.logs.get(cell)!.base === pos;
    const cursor = this.cursorOf(order);
    const flags = { ...(base ? { base } : {}), ...(open ? { open } : {}), ...(oldest ? { gap: true as const } : {}) };
    return { cell, id, events, lines, pos, cursor, at, ...flags };
  }

  private wake(): void {
    const waiting = this.waiting;
    this.waiting = [];
    for (const resolve of waiting) resolve();
  }
}

/** All of these runs, each sorted: a million at once would hold up everybody. */
function* inOrder(runs: readonly string[][]): Generator<string> {
  const heads = runs.filter(({ length }) => length > 0).map((run) => ({ run, at: 0 }));
  while (heads.length > 0) {
    const least = heads.reduce((a, b) => (b.run[b.at]! < a.run[a.at]! ? b : a));
    yield least.run[least.at++]!;
    if (least.at === least.run.length) heads.splice(heads.indexOf(least), 1);
  }
}

function trimmed(cell: string, base: Pos): BytebotError {
  return new BytebotError("cursor_expired", `cell "${cell}" was trimmed below ${base}`, { data: { base } });
}
