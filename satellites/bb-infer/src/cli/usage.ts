import { parseArgs, type ParseArgsOptionsConfig } from "node:util";
import { BytebotError } from "bytebot/sdk";
import { toReport } from "bytebot/wire";

/** What each command's file exports as `command`. */
export interface Command {
  /** All that `--help` prints. */
  help: string;
  /** Resolves with the exit code. Throws UsageError, or what is to be told. */
  run(args: string[]): Promise<number>;
}

/** The command line is wrong: exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";

  /** `command`: whose --help says more; empty: of bb-infer itself. */
  constructor(command: string, message: string) {
    super(`${message}; see bb-infer ${command ? `${command} ` : ""}--help`);
  }
}

/** Which model is meant, as the options of a command line say it. */
export const reach = {
  provider: { type: "string" },
  "base-url": { type: "string" },
  "api-key-env": { type: "string" },
  json: { type: "boolean" },
} as const;

/** The options of a command that takes no other words. Throws UsageError naming what is wrong. */
export function parse<const Options extends ParseArgsOptionsConfig>(command: string, args: string[], options: Options) {
  try {
    return parseArgs({ args, options, strict: true, allowPositionals: false }).values;
  } catch (error) {
    // Its first sentence says it; the second explains how to quote.
    const [sentence = ""] = BytebotError.from(error).message.split(/\. |\n/, 1);
    throw new UsageError(command, sentence.replace(/\.$/, ""));
  }
}

/** One sentence on stderr. */
export function tell(error: unknown): void {
  const message = error instanceof Error ? error.message : String(error);
  const known = error instanceof UsageError || error instanceof BytebotError;
  const sentence = toReport(message.replaceAll(/\s*\n\s*/g, " ").replace(/^bb-infer: /, ""));
  process.stderr.write(`bb-infer: ${known ? sentence : `unexpected error: ${sentence}`}\n`);
  if (!known && process.env["BYTEBOT_DEBUG"] === "1") console.error(error);
}

/** A line on stdout; nothing where whoever read has left, as after `| head`. */
export function printLine(line: string): void {
  if (process.stdout.writable) process.stdout.write(`${line}\n`);
}
