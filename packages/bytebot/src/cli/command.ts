import { parseArgs, type ParseArgsOptionsConfig } from "node:util";
import { BytebotError, isScope } from "../wire/index.ts";
import { UsageError } from "./errors.ts";

/** What each command's file exports as `command`. */
export interface Command {
  /** All that `--help` prints. */
  help: string;
  /** Resolves with the exit code: 0 ok, 1 it failed and has said why. Throws UsageError, or what is to be told. */
  run(args: string[]): Promise<number>;
}

const HELP = { help: { type: "boolean", short: "h" } } as const;

export function wantsHelp(args: readonly string[]): boolean {
  const end = args.indexOf("--");
  return args.slice(0, end === -1 ? undefined : end).some((arg) => arg === "--help" || arg === "-h");
}

/** The options and at most `most` words besides. Throws UsageError naming what is wrong. */
export function parse<const Options extends ParseArgsOptionsConfig>(
  command: string,
  args: string[],
  options: Options,
  most = 0,
) {
  let parsed;
  try {
    parsed = parseArgs({ args, options: { ...options, ...HELP }, allowPositionals: true, strict: true });
  } catch (error) {
    // Its first sentence says it; the second explains how to quote.
    throw new UsageError(
      command,
      BytebotError.from(error)
        .message.split(/\. |\n/, 1)[0]!
        .replace(/\.$/, ""),
    );
  }
  const extra = parsed.positionals[most];
  if (extra !== undefined) throw new UsageError(command, `${JSON.stringify(extra)} is one word too many`);
  return parsed;
}

export function toScopeOption(command: string, scope: string): string {
  if (isScope(scope)) return scope;
  throw new UsageError(
    command,
    `--scope ${JSON.stringify(scope)} is no scope: letters, digits and ._@:- , parts joined by "/", as in u_7f3a`,
  );
}
