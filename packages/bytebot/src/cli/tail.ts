import { observe } from "../app/observe.ts";
import { BytebotError } from "../wire/index.ts";
import { parse, toScopeOption, type Command } from "./command.ts";
import { isBytebotError, UsageError } from "./errors.ts";
import { printLine, unread } from "./output.ts";
import { socketFolder, socketOf, sockets } from "./socket.ts";

const help = `usage: bytebot tail [options]

Joins an app that bytebot run or bytebot chat started, and prints each event of its wire as one JSON line, until the app ends.

  --scope SCOPE  only this scope and what is below it
  --type TYPE    only events of this type, as in infer_chunk; may be repeated, or a list joined by commas
  --pid N        the app of this process (default: the newest that runs)
  --socket PATH  the app that listens there

exit codes: 0 the app ended or nobody reads, 1 there is no such app, 2 the command line is wrong
`;

const options = {
  scope: { type: "string" },
  type: { type: "string", multiple: true },
  pid: { type: "string" },
  socket: { type: "string" },
} as const;

export const command: Command = {
  help,
  async run(args) {
    const { values } = parse("tail", args, options);
    const { scope, pid, socket } = values;
    const types = values.type?.flatMap((list) => list.split(",")).filter((type) => type !== "");
    if (scope !== undefined) toScopeOption("tail", scope);
    if (pid !== undefined && !/^\d+$/.test(pid)) throw new UsageError("tail", `--pid ${pid} is no process id`);
    if (pid !== undefined && socket !== undefined) throw new UsageError("tail", "--pid and --socket name two apps");
    const named = socket ?? (pid === undefined ? undefined : socketOf(Number(pid)));
    await (named === undefined ? watchNewest(scope, types) : watch(named, scope, types));
    return 0;
  },
};

async function watchNewest(scope: string | undefined, types: string[] | undefined): Promise<void> {
  for (const path of await sockets()) {
    try {
      return await watch(path, scope, types);
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

function watch(path: string, scope: string | undefined, types: string[] | undefined): Promise<void> {
  return observe(path, { scope, types, signal: unread }, (event) => printLine(JSON.stringify(event)));
}
