import type { FileHandle } from "node:fs/promises";
import {
  BytebotError,
  cellOf,
  decode,
  ForkedFrom,
  Framer,
  isScope,
  isTitle,
  type Event,
  type Line,
} from "../../wire/index.ts";
import { MAX_ENTRY_EVENTS, withoutLarge } from "../../log/index.ts";
import type { About, BlobWriter, SqliteBlobs, SqliteLog } from "../../log/index.ts";
import { parse } from "../command.ts";
import { UsageError } from "../errors.ts";
import { printLine } from "../output.ts";
import { DEFAULT_FILE, owning } from "./database.ts";
import { EXPORT_VERSION, type EntryMark } from "./export.ts";
import { BlobParts } from "./import-blobs.ts";
import { bytesOf, nameOf, openToReread, unreadable } from "./reread.ts";

const options = { db: { type: "string" } } as const;

/** An event of the log at its largest, and what an export adds to it. */
const LIMITS = { line_bytes: 32 * 1024 * 1024, values: 1_100_000, depth: 70 };
/** Entries that are on their way to the disk at once. */
const AT_ONCE = 256;

export async function run(args: string[]): Promise<number> {
  const { values, positionals } = parse("log", args, options, 1);
  const [file] = positionals;
  if (file === undefined)
    throw new UsageError("log", "import needs the file that bytebot log export wrote, or - for stdin");
  const { db = DEFAULT_FILE } = values;
  const counts = await owning(db, async ({ log, blobs }) => {
    const bytes = await openToReread(file, db);
    try {
      return await imported({ name: nameOf(file), bytes }, log, blobs);
    } finally {
      await bytes.close();
    }
  });
  printLine(`${counts.entries} entries with ${counts.events} events, and ${counts.blobs} blobs`);
  return 0;
}

interface Exported {
  name: string;
  bytes: FileHandle;
}

interface Counts {
  entries: number;
  events: number;
  blobs: number;
}

/** All of the file is looked at before any of it is written: what cannot be imported changes nothing. */
async function imported(file: Exported, log: SqliteLog, blobs: SqliteBlobs): Promise<Counts> {
  const dry: Target = { head: (cell) => log.head(cell), restore: async () => NOWHERE, putBlob: async () => NO_BLOB };
  await readInto(file, dry, new NoBlobs(), "Nothing was imported");
  return readInto(file, log, blobs, "What is before it was imported");
}

async function readInto(
  file: Exported,
  log: Target,
  blobs: Pick<SqliteBlobs, "create">,
  then: string,
): Promise<Counts> {
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
      throw new BytebotError(code, `${file.name}, line ${number}: ${message}. ${then}`);
    }
  }
  try {
    await entries.end();
    parts.end();
  } catch (error) {
    const { code, message } = BytebotError.from(error);
    throw new BytebotError(code, `${file.name}: ${message}. ${then}`);
  }
  return { entries: entries.count, events: entries.events, blobs: parts.end() };
}

async function* linesOf({ name, bytes }: Exported): AsyncGenerator<Line> {
  const framer = new Framer(LIMITS.line_bytes);
  const lines: Line[] = [];
  const sink = {
    line: (line: Line) => void lines.push(typeof line === "string" ? line : line.slice()),
    tooLong: (size: number) => {
      throw new BytebotError("too_large", `${name}: a line of ${size} bytes is no event of a log`);
    },
  };
  try {
    for await (const chunk of bytesOf(bytes)) {
      framer.push(chunk, sink);
      yield* lines.splice(0);
    }
  } catch (error) {
    if (error instanceof BytebotError) throw error;
    throw unreadable(name, error);
  }
  framer.end(sink);
  yield* lines;
}

/** What of a log is written to. */
type Target = Pick<SqliteLog, "head" | "restore" | "putBlob">;

const NOWHERE = { pos: 0, cursor: "" };
const NO_BLOB = { type: "blob" as const, ref: "", mime_type: "", size: 0 };

/** Takes blobs, and keeps none. */
class NoBlobs {
  create(): BlobWriter {
    return { write: async () => undefined, commit: async () => undefined, discard: async () => undefined };
  }
}

/** Puts events together to the entries that they were, each where it was. */
class Entries {
  count = 0;
  events = 0;
  private readonly log: Target;
  private readonly heads = new Map<string, number>();
  private current: { cell: string; pos: number; mark: Omit<EntryMark, "cell">; events: Event[] } | undefined;
  private writing: Promise<unknown>[] = [];

  constructor(log: Target) {
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
    const { id, at, base, open, about } = mark;
    const head = this.heads.get(cell);
    if (head === undefined && (await this.log.head(cell)))
      throw new BytebotError("conflict", `the log has a cell "${cell}" already: import into one that does not`);
    const to = head === undefined ? pos : head + 1;
    this.heads.set(cell, to);
    const entry = { id, events, ...(base ? { base } : {}), ...(open ? { open } : {}), ...(about ? { about } : {}) };
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
  const { id, at, base, open, version = EXPORT_VERSION, about } = value as Partial<EntryMark>;
  if (version !== EXPORT_VERSION)
    throw new BytebotError(
      "unsupported_version",
      `this is an export of version ${String(version)}, and this bytebot knows ${EXPORT_VERSION}: use the one that wrote it`,
    );
  if (about !== undefined && !isAbout(about))
    throw new BytebotError("invalid_event", `the _entry of cell "${cell}" at ${pos} says nothing of it that is known`);
  if (typeof id !== "string" || typeof at !== "number")
    throw new BytebotError("invalid_event", `the _entry of cell "${cell}" at ${pos} has no id or time`);
  return {
    ...{ id, at, ...(base === true ? { base } : {}), ...(open === true ? { open } : {}) },
    ...(about ? { about } : {}),
  };
}

function isAbout({ title, forked_from, deleted }: About): boolean {
  if (title !== undefined && !(typeof title === "string" && isTitle(title))) return false;
  if (forked_from !== undefined && !ForkedFrom.safeParse(forked_from).success) return false;
  return deleted === undefined || deleted === true;
}
