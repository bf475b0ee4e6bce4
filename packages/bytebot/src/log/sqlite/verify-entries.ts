import type { DatabaseSync } from "node:sqlite";
import { checksumOf, type Row } from "./checksum.ts";
import type { Problem } from "./verify.ts";

export interface CellToCheck {
  id: number;
  name: string;
  base: number;
  open: number;
}

type EntryRow = Row & { number: number; checksum: number; event_count: number; event_total: number };

/** One cell's entries, from its base to its head. */
export function* entryProblems(
  db: DatabaseSync,
  cell: CellToCheck,
  seen: { entries: number; events: number },
): Generator<Problem> {
  const next = db.prepare("SELECT * FROM entries WHERE cell = ? AND pos > ? ORDER BY pos LIMIT 1");
  const hasBlob = db.prepare("SELECT 1 FROM blobs WHERE cell = ? AND use = 'entry' AND ref = ?");
  const after = (pos: number) => next.get(cell.id, pos) as EntryRow | undefined;
  let before: EntryRow | undefined;
  for (let row = after(-1); row; before = row, row = after(row.pos)) {
    const where = `cell "${cell.name}", entry ${row.pos}`;
    seen.entries++;
    seen.events += row.event_count;
    if (checksumOf(row) !== row.checksum) yield { where, what: "its checksum does not match what it says" };
    const expected = before ? before.pos + 1 : cell.base;
    if (row.pos !== expected) yield { where, what: `it should be the entry ${expected}: there is a hole before it` };
    if (!before && cell.base > 1 && row.base !== 1)
      yield { where, what: "what was before it is gone, and it stands for nothing" };
    if (before && row.number <= before.number)
      yield { where, what: "it comes before the one before it in the log's order" };
    if (before && row.event_total !== before.event_total + row.event_count)
      yield { where, what: "the count of its cell's events is wrong" };
    yield* eventProblems(where, row);
    for (const ref of refsOf(row)) if (!hasBlob.get(cell.id, ref)) yield { where, what: `its blob ${ref} is missing` };
  }
  if (before && before.open !== cell.open)
    yield {
      where: `cell "${cell.name}"`,
      what: "its newest entry and it do not agree on whether something is under way",
    };
  if (!before && cell.base > 1) yield { where: `cell "${cell.name}"`, what: "all of its entries are missing" };
}

function* eventProblems(where: string, { events, event_count: count }: EntryRow): Generator<Problem> {
  const parsed = parse(events);
  if (!Array.isArray(parsed)) return yield { where, what: "its events are no JSON array" };
  if (parsed.length !== count) yield { where, what: `it has ${parsed.length} events and says ${count}` };
  for (const [index, event] of parsed.entries())
    if (typeof (event as { event_type?: unknown } | null)?.event_type !== "string")
      yield { where, what: `its event ${index} has no event_type` };
}

export function refsOf({ refs }: { refs: string | null }): string[] {
  const parsed = refs === null ? [] : parse(refs);
  return Array.isArray(parsed) ? parsed.map(String) : [];
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Told by whoever asked: it is no array.
    return undefined;
  }
}
