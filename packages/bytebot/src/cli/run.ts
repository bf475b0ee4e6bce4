import type { ByteBot } from "../app/bytebot.ts";
import type { ComponentInfo } from "../wire/index.ts";
import { loadApp } from "./app.ts";
import { parse, type Command } from "./command.ts";
import { toListen } from "./listen.ts";
import { keptOptions } from "./kept.ts";
import { live } from "./live.ts";
import { printLine, report } from "./output.ts";

const help = `usage: bytebot run [app] [options]

Runs an app until Ctrl-C, SIGTERM, or the end of its ui; a second Ctrl-C ends it at once.
Prints one line for each component that was attached.

  app            a bytebot.app.json or the folder that holds it (default: the working folder), or a .js or .ts
                 module whose default export is a ByteBot, not started, or a function that returns one
  --listen PORT  serve the wire over HTTP on 127.0.0.1, to satellites with the token in BYTEBOT_TOKEN, or in the file that
                 is then named; HOST:PORT for another address
  --db FILE      the durable log (default: what the app file says, else bytebot.db beside it)
  --memory       keep nothing on the disk
  --json         the components as JSON lines
  --socket PATH  where bytebot tail may join (default: a place of its own in a folder of yours)

exit codes: 0 it was stopped or its ui ended, 1 it failed, 2 the command line is wrong
`;

export const command: Command = {
  help,
  async run(args) {
    const { values, positionals } = parse(
      "run",
      args,
      { json: { type: "boolean" }, socket: { type: "string" }, listen: { type: "string" }, ...keptOptions },
      1,
    );
    const asked = values.listen === undefined ? undefined : toListen("run", values.listen);
    const { hub, listen: configured } = await loadApp(positionals[0], { report }, values);
    const where = asked ?? configured;
    const started = async (running: ByteBot) => {
      for (const component of await running.components())
        printLine(values.json ? JSON.stringify(component) : told(component));
    };
    return (await live(hub, { socket: values.socket, started, listen: where })) === "failed" ? 1 : 0;
  },
};

function told({ component_id, name, kind, primary, controller }: ComponentInfo): string {
  const roles = [...(primary ? ["primary"] : []), ...(controller ? ["controller"] : [])].join(", ");
  return `${String(name).padEnd(16)} ${String(kind).padEnd(10)} ${String(component_id).padEnd(16)} ${roles}`.trimEnd();
}
