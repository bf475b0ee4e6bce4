/** Rounds to a markdown table: median (min–max) of each contender, and ours ÷ it (or − it), the median of the rounds' own. */
import type { Column, Measure } from "./measure.ts";
import type { Figure } from "./work.ts";

/** One row a round, one figure a contender in the measure's order; an Error where it could not be run. */
export type Rounds = Array<Array<Figure | Error>>;

export function table({ columns, contenders }: Measure, rounds: Rounds): string {
  const ours = contenders.findIndex(({ role }) => role === "ours");
  const rows = contenders.map(({ name, role, goals = {} }, index) => [
    role === "ours" || role === "also" ? `**${name}**` : name,
    role === "also" ? "ours" : role,
    ...columns.flatMap((column) => {
      const figures = rounds.map((row) => value(row[index], column));
      if (role === "ours" || role === "also")
        return [spread(figures), goals[column.key] ? `(${goals[column.key]})` : ""];
      const compared = rounds.map((row) => compare(value(row[ours], column), value(row[index], column), column));
      return [spread(figures), comparison(compared, column, goals[column.key])];
    }),
  ]);
  const head = [
    "contender",
    "role",
    ...columns.flatMap(({ title, unit, compare: how }) => [
      unit ? `${title}, ${unit}` : title,
      how ? "ours − it (goal)" : "ours ÷ it (goal)",
    ]),
  ];
  const line = (cells: string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map((_, i) => (i < 2 ? "---" : "---:"))), ...rows.map(line)].join("\n");
}

/** NaN where it could not be measured. */
function value(figure: Figure | Error | undefined, { key }: Column): number {
  return figure === undefined || figure instanceof Error ? NaN : (figure[key] ?? NaN);
}

function spread(values: number[]): string {
  const sorted = measured(values);
  if (sorted.length === 0) return "–";
  return `${digits(median(sorted))} (${digits(sorted[0]!)}–${digits(sorted.at(-1)!)})`;
}

const compare = (ours: number, its: number, column: Column) => (column.compare ? ours - its : ours / its);

function comparison(values: number[], { compare: how }: Column, goal: string | undefined): string {
  const sorted = measured(values);
  const wanted = goal ? ` (${goal})` : "";
  if (sorted.length === 0) return wanted ? `–${wanted}` : "";
  return `${how ? digits(median(sorted)) : `${median(sorted).toFixed(2)}×`}${wanted}`;
}

const measured = (values: number[]) => values.filter((each) => !Number.isNaN(each)).sort((a, b) => a - b);

function median(sorted: number[]): number {
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** Three significant digits: more would be noise. */
const digits = (n: number) => Number(n.toPrecision(3)).toLocaleString("en-US");
