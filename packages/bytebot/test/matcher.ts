/** Golden lines in a trace: which trace contains which transcript. */
export type Line = Record<string, unknown>;

/** Theirs alone is that they are there: what a person or a model wrote, and what a satellite is written in. */
const FREE = new Set(["text", "delta", "language"]);
/** Their values differ in each run, but equal ones stay equal, and different ones different. */
const NAMES = new Set(["id", "in_reply_to", "loop_id", "call_id", "scope"]);

export function parseLines(text: string): Line[] {
  return text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => JSON.parse(line) as Line);
}

/**
 * Where each golden line stands in the trace, in order; undefined where the trace does not contain them all. Each field
 * of a golden line must be there with an equal value, save those above. More fields and more lines are allowed.
 */
export function findInOrder(golden: readonly Line[], trace: readonly Line[]): number[] | undefined {
  return find(golden, trace, 0, { actual: new Map(), golden: new Map() });
}

interface Names {
  /** Golden name → its name in the trace; and back. */
  actual: ReadonlyMap<string, string>;
  golden: ReadonlyMap<string, string>;
}

function find(golden: readonly Line[], trace: readonly Line[], from: number, names: Names): number[] | undefined {
  const [wanted, ...rest] = golden;
  if (!wanted) return [];
  for (let at = from; at < trace.length; at++) {
    const matched = match(wanted, trace[at]!, names);
    const after = matched && find(rest, trace, at + 1, matched);
    if (after) return [at, ...after];
  }
  return undefined;
}

/** The names with those that this pair adds; undefined where the lines differ. */
function match(wanted: Line, actual: Line, names: Names): Names | undefined {
  let known = names;
  for (const [field, value] of Object.entries(wanted)) {
    const found = actual[field];
    if (FREE.has(field)) {
      if (typeof found !== typeof value || found === "") return undefined;
    } else if (NAMES.has(field)) {
      if (typeof found !== "string" || found === "") return undefined;
      const bound = bind(field, String(value), found, known);
      if (!bound) return undefined;
      known = bound;
    } else if (!contains(value, found)) return undefined;
  }
  return known;
}

function bind(field: string, value: string, found: string, names: Names): Names | undefined {
  // An answer names what it answers: the two fields speak of one thing.
  const space = field === "in_reply_to" ? "id" : field;
  const [one, other] = [`${space} ${value}`, `${space} ${found}`];
  const known = names.actual.get(one);
  if (known !== undefined) return known === found ? names : undefined;
  if (names.golden.has(other)) return undefined;
  return { actual: new Map([...names.actual, [one, found]]), golden: new Map([...names.golden, [other, value]]) };
}

/** Objects may have more fields; all else is equal. */
function contains(wanted: unknown, found: unknown): boolean {
  if (typeof wanted !== "object" || wanted === null) return Object.is(wanted, found);
  if (typeof found !== "object" || found === null || Array.isArray(wanted) !== Array.isArray(found)) return false;
  if (Array.isArray(wanted) && wanted.length !== (found as unknown[]).length) return false;
  return Object.entries(wanted).every(([key, value]) => contains(value, (found as Line)[key]));
}
