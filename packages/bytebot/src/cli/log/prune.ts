import type { CellInfo, SqliteLog } from "../../log/index.ts";
import { parse } from "../command.ts";
import { UsageError } from "../errors.ts";
import { printLine } from "../output.ts";
import { printable, printableJson } from "../printable.ts";
import { toNumber, toScopes } from "./arguments.ts";
import { existing, owning } from "./database.ts";

const options = {
  db: { type: "string" },
  json: { type: "boolean" },
  keep: { type: "string" },
  "older-than": { type: "string" },
  "dry-run": { type: "boolean" },
} as const;

const DAY_MS = 24 * 60 * 60 * 1000;

/** What of a cell stays. */
interface Wanted {
  keep: number;
  /** Milliseconds since 1970: what is newer stays. */
  before: number;
}

export async function run(args: string[]): Promise<number> {
  const { values, positionals } = parse("log", args, options, 1);
  if (positionals[0] === undefined) throw new UsageError("log", 'prune needs a scope, or "*" for all');
  const scope = toScopes(positionals[0]);
  const days = toNumber("--older-than", values["older-than"]);
  const keep = toNumber("--keep", values.keep);
  if (days === undefined && keep === undefined)
    throw new UsageError("log", "prune needs --keep N, --older-than DAYS, or both");
  const wanted = { keep: keep ?? 0, before: days === undefined ? Infinity : Date.now() - days * DAY_MS };
  await owning(existing(values.db), async ({ log }) => {
    let events = 0;
    for await (const cell of log.cells([scope])) {
      const base = await baseOf(log, cell, wanted);
      if (!base || base.pos <= cell.base) continue;
      if (!values["dry-run"]) await log.trim(cell.cell, base.pos);
      events += base.below;
      const line = { cell: cell.cell, pruned: base.below, kept: cell.events - base.below };
      printLine(
        values.json ? printableJson(line) : `${printable(line.cell)}: ${line.pruned} events, ${line.kept} stay`,
      );
    }
    if (!values["dry-run"]) await log.shrink();
    const would = values["dry-run"] ? " would be" : "";
    printLine(values.json ? JSON.stringify({ pruned: events }) : `${events} events${would} pruned`);
  });
  return 0;
}

/** The newest snapshot such that what stays is enough, and how many events are below it. */
async function baseOf(
  log: SqliteLog,
  { cell, events }: CellInfo,
  { keep, before }: Wanted,
): Promise<{ pos: number; below: number } | undefined> {
  let above = 0;
  for await (const entry of log.readBack(cell)) {
    above += entry.events.length;
    if (entry.base && above >= keep && entry.at <= before) return { pos: entry.pos, below: events - above };
  }
  return undefined;
}
