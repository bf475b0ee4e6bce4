import { ByteBot } from "../../app/bytebot.ts";
import * as bb from "../../sdk/index.ts";
import { BytebotError, isScope, type Event } from "../../wire/index.ts";
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

/** Has the log's own Hub do it, as for a ui; nothing that was cut off goes on. Rejects with what the Hub refuses. */
export async function decided(file: string, request: Event): Promise<Event> {
  const answer = Promise.withResolvers<Event>();
  answer.promise.catch(() => undefined);
  const main = async (): Promise<void> => {
    const ctrl = await bb.sync({ kind: "ui" });
    const answered = ctrl.request(request);
    answered.then(answer.resolve, answer.reject);
    void ctrl.start();
    await answered.catch(() => undefined);
  };
  const quiet = { report: () => undefined, recovery: "wait" as const };
  const hub = await ByteBot.open({ file, ui: { main, kind: "ui", name: "bytebot-log" }, ...quiet });
  try {
    await hub.start();
    const { success, error, ...result } = await answer.promise;
    if (success === true) return result;
    throw BytebotError.fromWire(error as bb.WireError);
  } finally {
    await hub.stop();
  }
}
