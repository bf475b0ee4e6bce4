import { createHash } from "node:crypto";
import { BytebotError, tenantOf, type BlobBlock, type Event } from "../../src/wire/index.ts";
import {
  addSpent,
  type About,
  type Entry,
  type NewEntry,
  type Place,
  type Pos,
  type Spent,
} from "../../src/log/index.ts";
import type { Life } from "./life.ts";
import type { Stage } from "./stage.ts";

export type Kept = Entry & { cell: string };

/** What the log says when it refuses. */
export const DISK_FULL = "disk full";

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

/**
 * A log whose appends take time, fail, or leave open whether they failed, as the seed decides. It outlives the Hubs that
 * write to it: each has a `HubLog` of its own.
 */
export class SimLog {
  /** All that was ever committed, what was trimmed too: for the checks. */
  readonly entries: Kept[] = [];
  /** Positions at which a cell's append was refused. */
  readonly gaps = new Map<string, number[]>();
  /** By cell, what is still there. */
  readonly kept = new Map<string, Kept[]>();
  /** By cell, the position below which it was trimmed. */
  readonly bases = new Map<string, Pos>();
  /** By cell, what lists say of it; by tenant, what it has used up. */
  readonly abouts = new Map<string, About>();
  readonly spent = new Map<string, Spent>();
  private readonly ids = new Map<string, Kept>();
  private readonly blobs = new Map<string, Uint8Array>();
  /** By cell, what is on its way and not committed. */
  private readonly under = new Map<string, () => void>();
  private readonly stage: Stage;

  constructor(stage: Stage) {
    this.stage = stage;
  }

  append(cell: string, expected: Pos, entry: NewEntry, life: Life): Promise<Place> {
    const { time, random, faults } = this.stage;
    if (this.under.has(cell)) this.stage.fail(`cell ${cell} has two appends in flight (LOG-3)`);
    this.under.set(cell, () => void this.commit(cell, expected, entry));
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
      this.under.delete(cell);
      settle();
    };
    time.in(random.below(slowMs + 1), () => {
      if (life.isDead) return;
      try {
        if (what === "refused" && !this.ids.has(entry.id)) {
          this.gaps.set(cell, [...(this.gaps.get(cell) ?? []), this.position(cell)]);
          life.gaps.add(cell);
          throw new BytebotError("unavailable", DISK_FULL);
        }
        if (what !== "unavailable") {
          const { pos, cursor } = this.commit(cell, expected, entry);
          this.under.delete(cell);
          if (this.stage.diesAtCommit(entry)) return;
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

  /** The Hub is dead: what was on its way is committed or is not, and nobody hears of it. */
  cutOff(): void {
    const under = [...this.under.values()];
    this.under.clear();
    for (const commit of under) if (this.stage.random.chance(0.5)) commit();
  }

  isAppending(cell: string): boolean {
    return this.under.has(cell);
  }

  get end(): string {
    return `s:${this.entries.length}`;
  }

  trim(cell: string, base: Pos): void {
    const entries = this.kept.get(cell) ?? [];
    const at = entries.findIndex((entry) => entry.pos === base && entry.base);
    if (at === -1) throw new BytebotError("invalid_params", `cell "${cell}" has no base entry at ${base}`);
    entries.splice(0, at);
    this.bases.set(cell, base);
    this.stage.tell("log", `${cell} is trimmed below ${base}`);
  }

  isKept({ cell, pos }: Kept): boolean {
    return pos >= (this.bases.get(cell) ?? 0);
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

  atSeq(cell: string, seq: number): Event | undefined {
    const found = this.entries.find((entry) => entry.cell === cell && entry.pos === Math.floor(seq / 256));
    return found?.events[seq % 256];
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
    if (entry.about) this.abouts.set(cell, entry.about);
    if (entry.spent) this.spent.set(tenantOf(cell), addSpent(this.spent.get(tenantOf(cell)), entry.spent));
    if (entry.wipe) this.trim(cell, kept.pos);
    this.stage.committed(kept);
    return kept;
  }
}
