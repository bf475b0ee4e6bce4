import { observe } from "../app/observe.ts";
import { printable } from "../wire/index.ts";
import { appOptions, dialMeant } from "./apps.ts";
import { parse, toScopeOption, type Command } from "./command.ts";
import { UsageError } from "./errors.ts";
import { printLine, unread } from "./output.ts";

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
  ...appOptions,
} as const;

export const command: Command = {
  help,
  async run(args) {
    const { values } = parse("tail", args, options);
    const { scope, since, pid, socket } = values;
    const types = values.type?.flatMap((list) => list.split(",")).filter((type) => type !== "");
    if (scope !== undefined) toScopeOption("tail", scope);
    if (since !== undefined && since !== "start" && !since.includes(":"))
      throw new UsageError("tail", `--since ${JSON.stringify(since)} is neither start nor the cursor of an event`);
    const place = await dialMeant("tail", { pid, socket }, unread);
    const wanted = { scope, types, since, follow: values["no-follow"] !== true, signal: unread };
    await observe(place, wanted, (event) => printLine(printable(JSON.stringify(event))));
    return 0;
  },
};
