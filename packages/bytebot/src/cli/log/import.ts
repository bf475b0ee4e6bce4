import { createReadStream } from "node:fs";
import { BytebotError, cellOf, decode, Framer, isScope, type Event, type Line } from "../../wire/index.ts";
import { MAX_ENTRY_EVENTS, withoutLarge, type SqliteBlobs, type SqliteLog } from "../../log/index.ts";
import { parse } from "../command.ts";
import { UsageError } from "../errors.ts";
import { printLine } from "../output.ts";
import { DEFAULT_FILE, owning } from "./database.ts";
import type { EntryMark } from "./export.ts";
import { BlobParts } from "./import-blobs.ts";

const options = { db: { type: "string" } } as const;

/** An event of the log at its largest, and what an export adds to it. */
const LIMITS = { line_bytes: 32 * 1024 * 1024, values: 1_100_000, depth: 70 };
/** Entries that are on their way to the disk at once. */
const AT_ONCE = 256;

export async function run(args: string[]): Promise<number> {
  const { values, positionals } = parse("log", args, options, 1);
  const [file] = positionals;
  if (file === undefined) throw new UsageError("log", "import needs the file that bytebot log export wrote");
  const counts = await owning(values.db ?? DEFAULT_FILE, ({ log, blobs }) => imported(file, log, blobs));
  printLine(`${counts.entries} entries with ${counts.events} events, and ${counts.blobs} blobs`);
  return 0;
}

interface Counts {
  entries: number;
  events: number;
  blobs: number;
}

async function imported(file: string, log: SqliteLog, blobs: SqliteBlobs): Promise<Counts> {
  const entries = new Entries(log);
  const parts = new BlobParts(blobs);
  let number = 0;
  for await (const line of linesOf(file)) {
    number++;
    try {
      const event = decode(line, LIMITS);
      if (event.event_type === "bb_blob") await parts.add(event);
      else await entries.add(event);
    } catch (error) {
      const { code, message } = BytebotError.from(error);
      throw new BytebotError(code, `${file}, line ${number}: ${message}. What is before it was imported`);
    }
  }
  await entries.end();
  return { entries: entries.count, events: entries.events, blobs: parts.end() };
}

async function* linesOf(file: string): AsyncGenerator<Line> {
  const framer = new Framer(LIMITS.line_bytes);
  const lines: Line[] = [];
  const sink = {
    line: (line: Line) => void lines.push(typeof line === "string" ? line : line.slice()),
    tooLong: (size: number) => {
      throw new BytebotError("too_large", `${file}: a line of ${size} bytes is no event of a log`);
    },
  };
  try {
    for await (const chunk of createReadStream(file)) {
      framer.push(chunk as Buffer, sink);
      yield* lines.splice(0);
    }
  } catch (error) {
    if (error instanceof BytebotError) throw error;
    throw new BytebotError("not_found", `${file} cannot be read: ${BytebotError.from(error).message}`);
  }
  framer.end(sink);
  yield* lines;
}

/** Puts events together to the entries that they were, each where it was. */
class Entries {
  count = 0;
  events = 0;
  private readonly log: SqliteLog;
  private readonly heads = new Map<string, number>();
  private current: { cell: string; pos: number; mark: Omit<EntryMark, "cell">; events: Event[] } | undefined;
  private writing: Promise<unknown>[] = [];

  constructor(log: SqliteLog) {
    this.log = log;
  }

  async add(line: Event): Promise<void> {
    const { seq, cursor: _, _entry, ...event } = line;
    const { scope } = event as { scope?: unknown };
    if (!isScope(scope)) throw new BytebotError("invalid_event", "an event of a log has a scope");
    if (typeof seq !== "number") throw new BytebotError("invalid_event", "an event of a log has a seq");
    const pos = Math.floor(seq / MAX_ENTRY_EVENTS);
    const cell = cellOf(scope);
    const mark = toMark(_entry, cell, pos);
    const { current } = this;
    if (current && mark === undefined && current.cell === cell && current.pos === pos)
      current.events.push(event as Event);
    else {
      await this.flush();
      const unmarked = { id: `import.${cell}.${pos}`, at: Number(event["ts"] ?? Date.now()) };
      this.current = { cell, pos, mark: mark ?? unmarked, events: [event as Event] };
    }
  }

  async end(): Promise<void> {
    await this.flush();
    await this.settled();
  }

  private async flush(): Promise<void> {
    const { current } = this;
    this.current = undefined;
    if (!current) return;
    const { cell, pos, mark, events } = current;
    const { id, at, base, open } = mark;
    const head = this.heads.get(cell);
    if (head === undefined && (await this.log.head(cell)))
      throw new BytebotError("conflict", `the log has a cell "${cell}" already: import into one that does not`);
    const to = head === undefined ? pos : head + 1;
    this.heads.set(cell, to);
    const entry = { id, events, ...(base ? { base } : {}), ...(open ? { open } : {}) };
    const written = Promise.resolve(
      withoutLarge(this.log, cell, entry, (small) => this.log.restore(cell, to, at, small)),
    );
    // Looked at below, with the others.
    written.catch(() => undefined);
    this.writing.push(written);
    this.count++;
    this.events += events.length;
    if (this.writing.length >= AT_ONCE) await this.settled();
  }

  private async settled(): Promise<void> {
    await Promise.all(this.writing);
    this.writing = [];
  }
}

function toMark(value: unknown, cell: string, pos: number): Omit<EntryMark, "cell"> | undefined {
  if (value === undefined) return undefined;
  const { id, at, base, open } = value as Partial<EntryMark>;
  if (typeof id !== "string" || typeof at !== "number")
    throw new BytebotError("invalid_event", `the _entry of cell "${cell}" at ${pos} has no id or time`);
  return { id, at, ...(base === true ? { base } : {}), ...(open === true ? { open } : {}) };
}
