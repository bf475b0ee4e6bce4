import { resolve } from "node:path";
import { ByteBot } from "../app/bytebot.ts";
import { ownOverStdio } from "../app/owned.ts";
import { parse, type Command } from "./command.ts";
import { hubOptions } from "./hub-options.ts";
import { UsageError } from "./errors.ts";
import { keptOptions, openKept, withKept } from "./kept.ts";
import { quieten, report } from "./output.ts";
import { Signals } from "./signals.ts";

const help = `usage: bytebot hub --stdio [options]

Runs a Hub for the program that starts it, in any language, which owns it: its events come on stdin, one line of JSON
each, and answers, and copies of all that happens, go to stdout. The first is {"event_type":"bb_sync","kind":"ui",
"owner":true}; then bb_attach, bb_detach, bb_policy, bb_components, bb_token, bb_conversations, bb_rename, bb_fork,
bb_delete, user_event, interrupt, bb_tool_call_request and bb_blob. Ends when stdin does.

  --stdio        the owner's link
  --base DIR     the folder that relative references start from (default: the working folder)
  --db FILE      the durable log (default: in memory)
  --memory       keep nothing on the disk
  --options JSON input, retention, recovery ("resume", "end"), budgets, prices, quotas, as an app's code has them

exit codes: 0 its owner left or it was stopped, 1 it failed, 2 the command line is wrong
`;

const options = {
  stdio: { type: "boolean" },
  base: { type: "string" },
  options: { type: "string" },
  ...keptOptions,
} as const;

export const command: Command = {
  help,
  async run(args) {
    const { values } = parse("hub", args, options);
    if (!values.stdio) throw new UsageError("hub", "the owner's link is needed: --stdio");
    const said = values.options === undefined ? {} : hubOptions(values.options);
    const kept = await openKept(values.db === undefined || values.memory ? undefined : resolve(values.db));
    const hub = await withKept(
      kept,
      (kept) => new ByteBot({ ...said, ...kept, base: resolve(values.base ?? "."), report }),
    );
    const signals = new Signals();
    try {
      await hub.start();
      await ownOverStdio(hub, signals.asked);
    } finally {
      quieten();
      await hub.stop("it failed");
      signals.close();
    }
    return 0;
  },
};
