import { BytebotError, toReport } from "../wire/index.ts";

/** The command line is wrong: exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";

  /** `command`: whose --help says more; empty: of bytebot itself. */
  constructor(command: string, message: string) {
    super(`${message}; see bytebot ${command ? `${command} ` : ""}--help`);
  }
}

export function exitCodeOf(error: unknown): number {
  return error instanceof UsageError ? 2 : 1;
}

/** One sentence on stderr; with BYTEBOT_DEBUG=1 where it was thrown, too. */
export function tell(error: unknown): void {
  const debug = process.env["BYTEBOT_DEBUG"] === "1";
  process.stderr.write(`bytebot: ${sentence(error)}\n`);
  if (debug) console.error(error);
}

/** What another copy of this package threw is known by its name alone. */
export function isBytebotError(error: unknown): error is BytebotError {
  return error instanceof BytebotError || (error instanceof Error && error.name === "BytebotError");
}

function sentence(error: unknown): string {
  const message = toReport((error instanceof Error ? error.message : String(error)).replaceAll(/\s*\n\s*/g, " "));
  if (error instanceof UsageError || isBytebotError(error)) return message;
  return `unexpected ${error instanceof Error ? error.name : "error"}: ${message} (BYTEBOT_DEBUG=1 shows where)`;
}
