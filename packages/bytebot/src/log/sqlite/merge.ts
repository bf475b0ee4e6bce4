import type { ReadConnection } from "./connection.ts";

const FIRST = "SELECT number, pos FROM entries WHERE cell = ? AND pos > ? ORDER BY pos LIMIT 1";
const NUMBER = "SELECT number FROM entries WHERE cell = ? AND pos = ?";
const NEWEST = "SELECT pos FROM entries WHERE cell = ? ORDER BY pos DESC LIMIT 1";

interface Head {
  cell: number;
  number: number;
  pos: number;
}

/** Numbers of these cells' entries after one and up to another, in order: each asked for when its turn has come. */
export function* merged(db: ReadConnection, cells: readonly number[], after: number, until: number): Generator<number> {
  const heads = cells.flatMap((cell) => first(db, cell, below(db, cell, after)) ?? []);
  while (heads.length > 0) {
    let least = 0;
    for (const [index, { number }] of heads.entries()) if (number < heads[least]!.number) least = index;
    const { cell, number, pos } = heads[least]!;
    if (number > until) return;
    yield number;
    const next = first(db, cell, pos);
    if (next) heads[least] = next;
    else heads.splice(least, 1);
  }
}

function first(db: ReadConnection, cell: number, pos: number): Head | undefined {
  const found = db.get<Omit<Head, "cell">>(FIRST, cell, pos);
  return found && { cell, ...found };
}

/** A position of the cell such that all above it come after this number: numbers rise with positions. */
function below(db: ReadConnection, cell: number, after: number): number {
  const oldest = first(db, cell, 0);
  if (!oldest || oldest.number > after) return 0;
  let low = oldest.pos;
  for (let high = db.get<{ pos: number }>(NEWEST, cell)?.pos ?? low; low < high;) {
    const middle = Math.ceil((low + high) / 2);
    // Trimmed in the meantime: then it was older than what is left.
    const number = db.get<{ number: number }>(NUMBER, cell, middle)?.number ?? 0;
    if (number <= after) low = middle;
    else high = middle - 1;
  }
  return low;
}
