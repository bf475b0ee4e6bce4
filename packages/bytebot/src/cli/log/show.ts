import { BytebotError, cellOf, encloses, printableExactly, type Event } from "../../wire/index.ts";
import type { EventLog } from "../../log/index.ts";
import { parse } from "../command.ts";
import { UsageError } from "../errors.ts";
import { printLine } from "../output.ts";
import { printable, printableJson, shortened } from "../printable.ts";
import { toNumber, toScopes } from "./arguments.ts";
import { reading } from "./database.ts";
import { stamped } from "./events.ts";

const options = { db: { type: "string" }, json: { type: "boolean" }, last: { type: "string" } } as const;
const LAST = 50;
/** Characters of a line. */
const WIDTH = 200;

/** The newest events of a scope and of what is below it in its cell, the oldest of them first. */
export async function run(args: string[]): Promise<number> {
  const { values, positionals } = parse("log", args, options, 1);
  if (positionals[0] === undefined) throw new UsageError("log", "show needs a scope, as in bytebot log show u_7f3a");
  const scope = toScopes(positionals[0]);
  if (scope === "*") throw new UsageError("log", "show needs one scope; bytebot log list has them all");
  const last = toNumber("--last", values.last, { least: 1 }) ?? LAST;
  const found = await reading(values.db, (log) => newest(log, scope, last));
  for (const event of found) printLine(values.json ? printableJson(event) : told(event));
  return 0;
}

async function newest(log: EventLog, scope: string, last: number): Promise<Event[]> {
  const found: Event[] = [];
  let isThere = false;
  for await (const entry of log.readBack(cellOf(scope))) {
    isThere = true;
    for (const [index, event] of [...entry.events.entries()].reverse())
      if (found.length < last && encloses(scope, String(event["scope"])))
        found.push({ ts: entry.at, ...stamped(event, entry, index) });
    if (found.length >= last) break;
  }
  if (!isThere)
    throw new BytebotError("not_found", `the log has no cell "${cellOf(scope)}": bytebot log list has them all`);
  return found.reverse();
}

function told(event: Event): string {
  const time = new Date(Number(event["ts"])).toISOString();
  return shortened(`${time}  ${printable(event.event_type).padEnd(20)}  ${printable(summary(event))}`, WIDTH);
}

/** What a person would want of it first. */
function summary(event: Event): string {
  return [whoOf(event), whatOf(event)].filter((part) => part !== "").join("  ");
}

/** Who said, stopped or allowed it, as far as that is known. */
function whoOf(event: Event): string {
  const { event_type, principal, from, by, approved_by } = event as Record<string, string | undefined>;
  const sender = event_type === "input_resolved" ? by : event_type === "interrupt" ? from : undefined;
  const person = principal ?? sender;
  const said = person === undefined ? [] : [`by ${person}`];
  return [...said, ...(approved_by === undefined ? [] : [`allowed by ${approved_by}`])].join(", ");
}

function whatOf(event: Event): string {
  if (event.event_type === "input_resolved") return String(event["choice"] ?? event["outcome"]);
  if (event.event_type === "input_strict" && event["approval"] !== undefined) return askedFor(event["approval"]);
  for (const key of ["text", "content", "name", "block", "state", "stop_reason", "error", "status"]) {
    const value = event[key];
    if (typeof value === "string") return value;
    if (value !== undefined && value !== null) return shortened(JSON.stringify(value), WIDTH);
  }
  return "";
}

/** What was asked to be allowed. */
function askedFor(approval: unknown): string {
  const { name, input } = approval as { name: string; input: unknown };
  return printableExactly(`may ${name} run? ${JSON.stringify(input)?.slice(0, WIDTH)}`);
}
