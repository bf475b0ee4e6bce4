import type { Command } from "./command.ts";
import { UsageError } from "./errors.ts";

/** Each in a file of its own, loaded when it is asked for. */
const commands: Record<string, () => Promise<{ run: Command["run"] }>> = {
  list: () => import("./log/list.ts"),
  show: () => import("./log/show.ts"),
  export: () => import("./log/export.ts"),
  import: () => import("./log/import.ts"),
  prune: () => import("./log/prune.ts"),
  rename: () => import("./log/rename.ts"),
  fork: () => import("./log/fork.ts"),
  delete: () => import("./log/delete.ts"),
  verify: () => import("./log/verify.ts"),
};

const help = `usage: bytebot log <command> [options]

Looks into the durable log of an app, and takes care of it. The first four only read, also while the app runs.

  list [SCOPE]            the cells of the log: their events, their size, when the last one was, their titles
  show SCOPE              the newest events of a scope, one a line
  export [SCOPE]          every event as a JSON line, whole, with its seq and cursor
  verify                  checks pages, order, counts, checksums and blobs; says what is wrong and where
  import FILE             brings what was exported into a log that does not have these cells; - is stdin
  prune SCOPE             gives up old events of a scope and what is below it; "*" is all
  rename SCOPE TITLE      gives a conversation another title
  fork SCOPE SEQ TO       begins a conversation TO with all that was said in SCOPE up to the end of a turn
  delete SCOPE            deletes a conversation: nothing of what was said in it is left in the log

  --db FILE               the log (default: bytebot.db)
  --json                  list, show, prune, verify: JSON lines
  --last N                show: so many events (default: 50)
  --out FILE              export: to this file instead of stdout; it must not be there yet
  --blobs                 export: also the blobs that components put, as bb_blob lines
  --keep N                prune: keeps at least the newest N events of each cell
  --older-than DAYS       prune: gives up what is older; with --keep, what is both
  --dry-run               prune: says what it would do

Only what lies below a snapshot is given up, so that a conversation stays whole: a cell without one keeps all it has.
The app must not run while the last five write to its log.

exit codes: 0 ok, 1 it failed, or verify found something, 2 the command line is wrong
`;

export const command: Command = {
  help,
  async run([name, ...args]) {
    const known = name !== undefined && Object.hasOwn(commands, name) ? commands[name] : undefined;
    if (!known) {
      const what = name === undefined ? "a command is needed" : `there is no command ${JSON.stringify(name)}`;
      throw new UsageError("log", `${what}: ${Object.keys(commands).join(", ")}`);
    }
    return (await known()).run(args);
  },
};
