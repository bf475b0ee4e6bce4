import { reach } from "../app/reach.ts";
import { checks, Listening, run, summed, told, toldSummary, wayOf, type Outcome, type Tested } from "../check/index.ts";
import { kinds, type Kind } from "../wire/index.ts";
import { parse, type Command } from "./command.ts";
import { isBytebotError, tell, UsageError } from "./errors.ts";
import { toListen } from "./listen.ts";
import { isUnread, printLine } from "./output.ts";
import { Signals } from "./signals.ts";

const help = `usage: bytebot check <component> [options]
       bytebot check --kind KIND [options] -- PROGRAM [ARGUMENT…]
       bytebot check --listen [[HOST:]PORT] --kind KIND [options] -- PROGRAM [ARGUMENT…]

Attaches a component as a Hub would, drives it through the rules of the wire that hold for its kind, and prints each rule
with how it was kept: ok, FAIL with the lines that show it, warn for a SHOULD, n/a with the reason.

  component        a path, a package or a URL; or, after --, a program that speaks on stdio. To a URL goes BYTEBOT_TOKEN
  --kind KIND      what the program is, or what is behind a URL that does not say: ${kinds.join(", ")}
  --listen [WHERE] the program dials in over HTTP: it finds the Hub's URL in BYTEBOT_HUB and its token in BYTEBOT_TOKEN.
                   WHERE is a port, or HOST:PORT (default: a free port of 127.0.0.1)
  --opts JSON      the options an app would pass (BYTEBOT_OPTS)
  --env NAME       an environment variable it may read; may be repeated
  --rule ID        only the checks of this rule, as in FRM-3; may be repeated
  --call NAME=JSON for a toolsource: this call may be made, with these arguments
                   (default: a tool annotated read_only, with the least arguments its schema takes)
                   Texts that are not ASCII show more: how it writes them is seen where it says them again
  --timeout S      seconds for each answer (default: what the rule says, else 10; an inference or a call 60)
  --json           each outcome as a JSON line, the last one {"summary":…}

exit codes: 0 every rule that could be checked is kept, 1 one is not, 2 it could not be run or the command line is wrong
`;

const options = {
  kind: { type: "string" },
  listen: { type: "string" },
  opts: { type: "string" },
  env: { type: "string", multiple: true },
  rule: { type: "string", multiple: true },
  call: { type: "string" },
  timeout: { type: "string" },
  json: { type: "boolean" },
} as const;

export const command: Command = {
  help,
  async run(args) {
    const { values, positionals } = parse("check", withPort(args), options, Infinity);
    const component = toComponent(positionals, values.kind);
    const rules = values.rule?.map(toRule);
    const call = values.call === undefined ? undefined : toCall(values.call);
    const timeoutMs = values.timeout === undefined ? undefined : toMilliseconds(values.timeout);
    const opts = values.opts === undefined ? undefined : toOpts(values.opts);
    const where = values.listen === undefined ? undefined : toListen("check", values.listen);
    const signals = new Signals();
    let listening: Listening | undefined;
    try {
      const from = { ...component, opts, env: values.env };
      const print = (line: string): void => void process.stderr.write(`${line}\n`);
      const reached: Tested = await reach(from, { base: process.cwd(), print });
      if (where) reached.listening = listening = await listenFor(reached, where);
      const going = { rules, call, timeoutMs, signal: signals.asked };
      return (await printed(reached, values.json === true, run(reached, going))) ? 0 : 1;
    } catch (error) {
      if (!isBytebotError(error)) throw error;
      tell(error);
      return 2;
    } finally {
      await listening?.close();
      signals.close();
    }
  },
};

/** The port may be left out. */
function withPort(args: readonly string[]): string[] {
  const at = args.indexOf("--listen");
  const end = args.indexOf("--");
  if (at === -1 || (end !== -1 && at > end)) return [...args];
  const next = args[at + 1];
  const named = next !== undefined && /^(?:\[[^\]]+\]:|[^-:/][^:/]*:)?\d+$/.test(next);
  return named ? [...args] : args.toSpliced(at + 1, 0, "0");
}

function listenFor({ start, name }: Tested, where: { host: string; port: number }): Promise<Listening> {
  if (start) return Listening.open(where);
  throw new UsageError(
    "check",
    `--listen needs a program that dials in, and ${name} is none: bytebot check --listen --kind ui -- python3 ui.py`,
  );
}

const ways = { stdio: "over stdio", serves: "over HTTP", dials: "dialling in over HTTP", inproc: "in this process" };

async function printed(reached: Tested, json: boolean, outcomes: AsyncIterable<Outcome>): Promise<boolean> {
  const way = ways[wayOf(reached)];
  if (!json && reached.kind !== undefined) printLine(`${reached.name}, ${reached.kind}, ${way}\n`);
  const all: Outcome[] = [];
  for await (const outcome of outcomes) {
    all.push(outcome);
    printLine(json ? JSON.stringify(outcome) : told(outcome));
    if (isUnread()) break;
  }
  const summary = summed(all);
  printLine(json ? JSON.stringify({ summary }) : `\n${toldSummary(summary)}`);
  return summary.failed === 0;
}

function toComponent(words: string[], kind: string | undefined): Parameters<typeof reach>[0] {
  const [ref, ...more] = words;
  if (ref === undefined) throw new UsageError("check", "a component is needed, as in bytebot check ./tools");
  if (kind === undefined) {
    if (more.length > 0)
      throw new UsageError("check", "a program needs its --kind, as in --kind infer -- python3 infer.py");
    return { ref };
  }
  const known: Kind | undefined = kinds.find((one) => one === kind);
  if (!known) throw new UsageError("check", `--kind ${kind} is none of ${kinds.join(", ")}`);
  if (/^https?:\/\//i.test(ref) && more.length === 0) return { ref, kind: known };
  return { kind: known, entry: { type: "stdio", command: words } };
}

function toRule(id: string): string {
  const wanted = id.toUpperCase();
  if (checks.some(({ rule }) => rule === wanted)) return wanted;
  const all = [...new Set(checks.map(({ rule }) => rule))].toSorted().join(", ");
  throw new UsageError("check", `no check is of the rule ${JSON.stringify(id)}; there are ${all}`);
}

function toCall(text: string): { name: string; input: unknown } {
  const at = text.indexOf("=");
  const name = text.slice(0, Math.max(at, 0));
  if (name === "")
    throw new UsageError("check", `--call needs a name and its arguments, as in --call 'search={"words":"a"}'`);
  return { name, input: toObject("--call", text.slice(at + 1)) };
}

function toOpts(text: string): Record<string, unknown> {
  return toObject("--opts", text);
}

function toObject(option: string, text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // Said below, without the text: options may hold a key.
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new UsageError("check", `${option} needs a JSON object, as in '{"root":"."}'`);
}

function toMilliseconds(text: string): number {
  const seconds = Number(text);
  if (Number.isFinite(seconds) && seconds > 0 && seconds <= 3600) return seconds * 1000;
  throw new UsageError("check", `--timeout ${JSON.stringify(text)} is no number of seconds`);
}
