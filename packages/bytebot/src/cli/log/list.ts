import { parse } from "../command.ts";
import { isUnread, printLine } from "../output.ts";
import { printable, printableJson } from "../printable.ts";
import { toScopes } from "./arguments.ts";
import { reading } from "./database.ts";

const options = { db: { type: "string" }, json: { type: "boolean" } } as const;

/** The cells, in the order of their names, as they are read: a log may have a million. */
export async function run(args: string[]): Promise<number> {
  const { values, positionals } = parse("log", args, options, 1);
  const scope = toScopes(positionals[0]);
  await reading(values.db, async (log) => {
    const open = new Set<string>();
    for await (const cell of log.unfinished()) open.add(cell);
    if (!values.json)
      printLine(`${"events".padStart(9)}  ${"entries".padStart(9)}  ${"newest".padEnd(24)}  cell  title`);
    let cells = 0;
    for await (const info of log.cells([scope])) {
      cells++;
      const { cell, entries, events, at, about = {} } = info;
      const { title, deleted } = about;
      const name = deleted ? "  (deleted)" : title === undefined ? "" : `  ${printable(title)}`;
      const state = open.has(cell) ? "  (something is under way)" : "";
      const columns = [String(events).padStart(9), String(entries).padStart(9), new Date(at).toISOString()];
      if (values.json) printLine(printableJson({ ...info, open: open.has(cell) }));
      else printLine(`${columns.join("  ")}  ${printable(cell)}${name}${state}`);
      if (isUnread()) return;
    }
    if (!values.json) printLine(`${cells} ${cells === 1 ? "cell" : "cells"}`);
  });
  return 0;
}
