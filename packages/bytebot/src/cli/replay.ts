import { createReadStream } from "node:fs";
import { plain, readRecording, replay, shown, told, type Replayed } from "../replay/index.ts";
import { BytebotError } from "../wire/index.ts";
import { parse, toScopeOption, type Command } from "./command.ts";
import { isBytebotError, tell, UsageError } from "./errors.ts";
import { isUnread, printLine } from "./output.ts";
import { Signals } from "./signals.ts";

const help = `usage: bytebot replay FILE [options]

Runs a recorded conversation again: a real Hub, with a recorded infer, recorded tools and a recorded person, who say what
they said in FILE, in that order. The same log has to come out; where it does not, the first difference is shown.

FILE has durable events as JSON lines, as bytebot log export writes them and bytebot tail --since start prints them:
user_event, bb_infer_request, infer_chunk, bb_infer_result and so on; what else is in it is passed over. Ids, cursors and times differ in each run, and are not
compared. Each conversation with a log of its own is replayed by itself. Nothing is called: no model, no tool, no network.

  FILE           the recording; - for stdin
  --scope SCOPE  only this scope and what is below it
  --json         what became of each as a JSON line, the last one {"summary":…}

exit codes: 0 the same, 1 different, 2 FILE cannot be replayed or the command line is wrong
`;

export const command: Command = {
  help,
  async run(args) {
    const { values, positionals } = parse("replay", args, { scope: { type: "string" }, json: { type: "boolean" } }, 1);
    const [file] = positionals;
    if (file === undefined) throw new UsageError("replay", "a recording is needed, as in bytebot replay log.jsonl");
    const scope = values.scope === undefined ? undefined : toScopeOption("replay", values.scope);
    const signals = new Signals();
    try {
      return await printed(file, scope, values.json === true, signals.asked);
    } catch (error) {
      const { code, syscall } = error as NodeJS.ErrnoException;
      if (!isBytebotError(error) && syscall === undefined && !signals.asked.aborted) throw error;
      const why = isBytebotError(error)
        ? shown(error.message)
        : syscall
          ? `it cannot be read (${code})`
          : "it was stopped";
      tell(new BytebotError("invalid_params", `${JSON.stringify(file)} cannot be replayed: ${why}`));
      return 2;
    } finally {
      signals.close();
    }
  },
};

async function printed(file: string, scope: string | undefined, json: boolean, signal: AbortSignal): Promise<number> {
  const source = file === "-" ? process.stdin : createReadStream(file, { signal });
  const recording = await readRecording(source, scope);
  const { cutAt } = recording;
  if (cutAt !== undefined && !json) printLine(`      line ${cutAt} is cut, and left out: the recording ends before it`);
  const summary = { same: 0, different: 0, events: 0, ...(cutAt === undefined ? {} : { cut_at: cutAt }) };
  for await (const replayed of replay(recording, signal)) {
    summary[replayed.found ? "different" : "same"]++;
    summary.events += replayed.events;
    printLine(json ? plain(JSON.stringify(toJson(replayed))) : told(replayed));
    if (isUnread()) break;
  }
  if (summary.events === 0 && summary.different === 0)
    throw new BytebotError("not_found", "nothing in it has its beginning there, so that nothing can be repeated");
  printLine(json ? JSON.stringify({ summary }) : `\n${summary.same} the same, ${summary.different} different`);
  return summary.different === 0 ? 0 : 1;
}

function toJson({ cell, events, notes, found }: Replayed): object {
  const { line, difference, recorded, replayed, why } = found ?? {};
  const differs = found && {
    line: line ?? null,
    path: difference?.path ?? null,
    was: difference?.recorded,
    is: difference?.replayed,
  };
  return {
    scope: cell,
    same: !found,
    events,
    notes,
    ...differs,
    ...(found ? { recorded: recorded ?? null, replayed: replayed ?? null, why } : {}),
  };
}
