import { observe, type ObserveOptions } from "../app/observe.ts";
import { BytebotError, printable } from "../wire/index.ts";
import { parse, toScopeOption, type Command } from "./command.ts";
import { isBytebotError, UsageError } from "./errors.ts";
import { printLine, unread } from "./output.ts";
import { socketFolder, socketOf, sockets } from "./socket.ts";

const help = `usage: bytebot tail [options]

Joins an app that bytebot run or bytebot chat started, and prints each event of its wire as one JSON line, until the app ends.
To go on later where it stopped, give the "cursor" of the last line it printed to --since.

  --scope SCOPE  only this scope and what is below it
  --type TYPE    only events of this type, as in infer_chunk; may be repeated, or a list joined by commas
  --since PLACE  first what is in the app's log after PLACE: the cursor of an event, or start for all that is kept
  --no-follow    ends when it has printed what is there, instead of waiting for more
  --pid N        the app of this process (default: the newest that runs)
  --socket PATH  the app that listens there

exit codes: 0 the app ended or nobody reads, 1 there is no such app, 2 the command line is wrong
`;

const options = {
  scope: { type: "string" },
  type: { type: "string", multiple: true },
  since: { type: "string" },
  "no-follow": { type: "boolean" },
  pid: { type: "string" },
  socket: { type: "string" },
} as const;

export const command: Command = {
  help,
  async run(args) {
    const { values } = parse("tail", args, options);
    const { scope, since, pid, socket } = values;
    const types = values.type?.flatMap((list) => list.split(",")).filter((type) => type !== "");
    if (scope !== undefined) toScopeOption("tail", scope);
    if (pid !== undefined && !/^\d+$/.test(pid)) throw new UsageError("tail", `--pid ${pid} is no process id`);
    if (pid !== undefined && socket !== undefined) throw new UsageError("tail", "--pid and --socket name two apps");
    if (since !== undefined && since !== "start" && !since.includes(":"))
      throw new UsageError("tail", `--since ${JSON.stringify(since)} is neither start nor the cursor of an event`);
    const wanted = { scope, types, since, follow: values["no-follow"] !== true };
    const named = socket ?? (pid === undefined ? undefined : socketOf(Number(pid)));
    await (named === undefined ? watchNewest(wanted) : watch(named, wanted));
    return 0;
  },
};

type Wanted = Omit<ObserveOptions, "signal">;

async function watchNewest(wanted: Wanted): Promise<void> {
  for (const path of await sockets()) {
    try {
      return await watch(path, wanted);
    } catch (error) {
      // Left behind by an app that was killed: the next one may live.
      if (!isBytebotError(error) || error.code !== "unavailable") throw error;
    }
  }
  throw new BytebotError(
    "unavailable",
    `no running app has its socket in ${socketFolder()}: start one with bytebot run or bytebot chat`,
  );
}

function watch(path: string, wanted: Wanted): Promise<void> {
  return observe(path, { ...wanted, signal: unread }, (event) => printLine(printable(JSON.stringify(event))));
}
