import { ByteBot } from "../app/bytebot.ts";
import { chatUi, type Said } from "./chat-ui.ts";
import { parse, toScopeOption, type Command } from "./command.ts";
import { main as infer } from "./demo/infer.ts";
import { main as toolsource } from "./demo/toolsource.ts";
import { UsageError } from "./errors.ts";
import { live } from "./live.ts";
import { report } from "./output.ts";
import { transcript } from "./transcript.ts";

const help = `usage: bytebot demo [options]

A chat with a script instead of a model: it streams text and calls a tool that keeps files in memory.
No key and no network are needed.

  --once TEXT    one turn: prints the answer and ends
  --json         without a terminal: each event as a JSON line
  --scope SCOPE  the conversation (default: local; with --transcript: u_7f3a)

  --transcript   one turn through four processes that speak the wire over stdio; prints all of it as JSON lines
  --text TEXT    what the person says there (default: ship it)
  --tool NAME    the tool that is called there (default: create-user-file)

exit codes: 0 ok, 1 it failed, 2 the command line is wrong
`;

const options = {
  once: { type: "string" },
  json: { type: "boolean" },
  scope: { type: "string" },
  transcript: { type: "boolean" },
  text: { type: "string" },
  tool: { type: "string" },
} as const;

export const command: Command = {
  help,
  async run(args) {
    const { values } = parse("demo", args, options);
    const { once, json = false, text, tool } = values;
    if (values.scope !== undefined) toScopeOption("demo", values.scope);
    if (values.transcript) {
      if (once !== undefined) throw new UsageError("demo", "--once and --transcript exclude each other");
      if (tool === "" || (tool?.length ?? 0) > 128)
        throw new UsageError("demo", "--tool needs a name of 1 to 128 characters");
      const { scope = "u_7f3a" } = values;
      return (await transcript({ text: text ?? "ship it", tool: tool ?? "create-user-file", scope })) ? 0 : 1;
    }
    if (text !== undefined || tool !== undefined)
      throw new UsageError("demo", "--text and --tool go with --transcript");
    return (await live(demoApp({ once, json, scope: values.scope }))) === "done" ? 0 : 1;
  },
};

const LABEL = "SCRIPTED DEMO: no model answers here, a script does.";
/** Between two words, in milliseconds, where a person watches. */
const PACE_MS = 40;

/** The chat with the script, labelled as such on the screen. */
export function demoApp(said: Said): ByteBot {
  const hub = new ByteBot({ ui: chatUi(said, LABEL), report });
  const opts = { pace: process.stdout.isTTY ? PACE_MS : 0 };
  hub.attachInfer({ name: "scripted", kind: "infer", main: infer, opts }, { primary: true });
  hub.attach({ name: "files", kind: "toolsource", main: toolsource });
  return hub;
}
