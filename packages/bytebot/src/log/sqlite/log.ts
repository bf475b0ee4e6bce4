import { BytebotError, type BlobBlock } from "../../wire/index.ts";
import type { NewEntry, Place, Pos } from "../log.ts";
import { checkSize, linesOf } from "../size.ts";
import type { ReadConnection } from "./connection.ts";
import { SqliteReader } from "./reader.ts";
import type { Append } from "./jobs.ts";
import type { WriterThread } from "./thread.ts";

/**
 * The log in one SQLite file: what was acknowledged survives the process, and with `synchronous: "full"` the loss of
 * power. A thread of its own writes, all that came while the last commit ran in the next one; this one reads.
 */
export class SqliteLog extends SqliteReader {
  private readonly thread: WriterThread;
  private acknowledged: number;
  private readonly freed: (cell: string, bytes: number) => void;

  /** `freed`: is told the bytes of blobs that went with a wiped cell. */
  constructor(thread: WriterThread, db: ReadConnection, freed: (cell: string, bytes: number) => void) {
    super(db);
    this.freed = freed;
    this.thread = thread;
    this.acknowledged = this.reading.last;
  }

  /** As the writer's own connection has it: 2 is FULL, 1 NORMAL. */
  get synchronous(): number {
    return this.thread.opened!.synchronous;
  }

  /** Of what was acknowledged: what is written and not yet answered for, nobody is shown. */
  protected override get last(): number {
    return this.acknowledged;
  }

  override append(cell: string, expected: Pos, entry: NewEntry): Promise<Place> {
    try {
      return this.write(cell, expected, entry);
    } catch (error) {
      return Promise.reject(BytebotError.from(error));
    }
  }

  /** As it was in another log: `at` in milliseconds since 1970. Of a cell without entries it may be any position's. */
  async restore(cell: string, pos: Pos, at: number, entry: NewEntry): Promise<Place> {
    // One after the other, and nothing between them.
    const both = [this.thread.post({ do: "begin", cell, pos }), this.write(cell, pos - 1, entry, at)] as const;
    return (await Promise.all(both))[1];
  }

  override async trim(cell: string, base: Pos): Promise<void> {
    await this.thread.post({ do: "trim", cell, base });
  }

  /** Gives all the room back that trimming has freed. Until then, and without it, it is used again. */
  async shrink(): Promise<void> {
    await this.thread.post({ do: "shrink" });
  }

  override putBlob(cell: string, bytes: Uint8Array): Promise<BlobBlock> {
    return this.thread.post({ do: "put", cell, bytes: new Uint8Array(bytes) });
  }

  /** All that was appended is settled, and the file is free for another owner. */
  override async close(): Promise<void> {
    // First what reads, so that what writes is the last, and leaves one file.
    await super.close();
    await this.thread.close();
  }

  private write(cell: string, expected: Pos, entry: NewEntry, at?: number): Promise<Place> {
    const lines = linesOf(entry);
    checkSize(lines);
    const { id, refs, base, open, wipe, about, spent } = entry;
    const events = lines.length === 1 ? `[${lines[0]}]` : `[${lines.join(",\n")}]`;
    const job: Append = { do: "append", cell, expected, id, events, eventCount: lines.length };
    if (refs?.length) job.refs = refs;
    if (base) job.base = true;
    if (open) job.open = true;
    if (wipe) job.wipe = true;
    if (about) job.about = about;
    if (spent) job.spent = spent;
    if (at !== undefined) job.at = at;
    return this.thread.post(job).then(([pos, number, freed]) => {
      if (freed !== undefined) this.freed(cell, freed);
      if (number > this.acknowledged) this.acknowledged = number;
      this.wake();
      return { pos, cursor: this.reading.cursorOf(number) };
    });
  }
}
