import { parse } from "../command.ts";
import { isUnread, printLine } from "../output.ts";
import { printable, printableJson } from "../printable.ts";
import { existing } from "./database.ts";

const options = { db: { type: "string" }, json: { type: "boolean" } } as const;

/** As they are found, then what was looked at. Resolves with 1 where something is wrong. */
export async function run(args: string[]): Promise<number> {
  const { values } = parse("log", args, options);
  const { verifySqlite } = await import("../../log/sqlite/verify.ts");
  const problems = verifySqlite(existing(values.db));
  let count = 0;
  let step = problems.next();
  for (; !step.done; step = problems.next()) {
    count++;
    const { where, what } = step.value;
    printLine(values.json ? printableJson(step.value) : `${printable(where)}: ${printable(what)}`);
    if (isUnread()) return 1;
  }
  const { cells, entries, events, blobs, owner } = step.value;
  const { pid, host, since, synchronous } = owner;
  if (values.json) printLine(JSON.stringify({ problems: count, ...step.value }));
  else {
    printLine(`${cells} cells, ${entries} entries, ${events} events, ${blobs} blobs`);
    const mode = synchronous === 2 ? "FULL" : synchronous === 1 ? "NORMAL" : String(synchronous);
    printLine(
      `last owner: process ${pid} on ${printable(host)} since ${new Date(since).toISOString()}, synchronous=${mode}`,
    );
    printLine(count === 0 ? "nothing is wrong" : `${count} ${count === 1 ? "problem" : "problems"}`);
  }
  return count === 0 ? 0 : 1;
}
