import { ByteBot } from "../../app/bytebot.ts";
import { isScope } from "../../wire/index.ts";
import { parse } from "../command.ts";
import { UsageError } from "../errors.ts";
import { existing } from "./database.ts";

const options = { db: { type: "string" } } as const;

/** The words of a command that decides about a conversation, each needed, and the log. Throws UsageError. */
export function words(command: string, args: string[], names: readonly string[]): { db: string; given: string[] } {
  const { values, positionals } = parse("log", args, options, names.length);
  const missing = names[positionals.length];
  if (missing !== undefined) throw new UsageError("log", `${command} needs ${names.join(" ")}: ${missing} is missing`);
  return { db: existing(values.db), given: positionals };
}

export function toScope(text: string): string {
  if (isScope(text)) return text;
  throw new UsageError("log", `${JSON.stringify(text)} is no scope: as in u_7f3a or u_7f3a/c_2`);
}

/** Has the log's own Hub do it, as an app would; nothing that was cut off goes on. Rejects with what the Hub refuses. */
export async function decided(file: string, decide: (app: ByteBot) => Promise<void>): Promise<void> {
  const app = await ByteBot.open({ file, report: () => undefined, recovery: "wait" });
  try {
    await app.start();
    await decide(app);
  } finally {
    await app.stop();
  }
}
