import { cellOf } from "../../wire/index.ts";

/** Names from `low` on and below `high`, in the order of their bytes. */
export interface Range {
  low: string;
  high: string;
}

const ALL: Range = { low: "", high: "\u{10ffff}" };

/** Where the names of the cells lie that these scopes reach (see `reaches`): in order, and none twice. */
export function rangesOf(scopes: readonly string[]): Range[] {
  if (scopes.includes("*")) return [ALL];
  const ranges = scopes.flatMap((scope) => [
    exactly(scope),
    exactly(cellOf(scope)),
    // What is below it: "0" is what follows "/".
    { low: `${scope}/`, high: `${scope}0` },
  ]);
  ranges.sort((a, b) => (a.low < b.low ? -1 : 1));
  const joined: Range[] = [];
  for (const range of ranges) {
    const last = joined.at(-1);
    if (!last || range.low > last.high) joined.push({ ...range });
    else if (range.high > last.high) last.high = range.high;
  }
  return joined;
}

function exactly(name: string): Range {
  return { low: name, high: `${name}\0` };
}
